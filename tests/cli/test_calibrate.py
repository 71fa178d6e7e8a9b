import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from gnnbench.cli import calibrate as cli_calibrate
from gnnbench.cli import main
from gnnbench.compare.ab import coordinator
from gnnbench.compare.ab.schedule import Decision
from gnnbench.compare.calibration import SIZES
from gnnbench.compare.verdict import Judgement
from gnnbench.errors import UsageError
from tests.suite import environment, gnnbench

SUITE = """
def test_sum(benchmark):
    benchmark(sum, range(100))
"""
TRUTHS = {
    "benchmarks": {"test_sum": 1e-3},
    "noise": {"sigma": 0.002, "spike_probability": 0, "drift": 0.02},
}


@pytest.fixture
def suite(tmp_path):
    # Nothing else than what is needed, to start quickly.
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p pytest_benchmark.plugin\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "truths.json").write_text(json.dumps(TRUTHS))
    return tmp_path


def settings(folder):
    return {
        "GNNBENCH_CACHE": str(folder / "cache"),
        "GNNBENCH_FAKE_CLOCK": "5:truths.json",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def start(folder, *words, **variables):
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("gnnbench")), *words],
        cwd=folder,
        env=environment(**{**settings(folder), **variables}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def saved(folder):
    """Return the runs of all calibrations in the only file."""
    files = list((folder / "cache" / "calibration").glob("*.json"))
    content = json.loads(files[0].read_text()) if files else {"calibrations": []}
    return [run for one in content["calibrations"] for run in one["runs"]]


def wait_for(number, folder, process):
    deadline = time.monotonic() + 60
    while len(saved(folder)) < number and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(saved(folder)) == number
    workers = []
    while len(workers) < 2 and time.monotonic() < deadline:  # the next run is under way
        workers = psutil.Process(process.pid).children(recursive=True)
        time.sleep(0.02)
    return workers


def test_it_goes_on_where_it_was_stopped(suite):
    """The real command, killed and interrupted; then what it learnt stands beside the table of `ab`."""
    words = ("calibrate", "--runs", "2", "--planted", "1", "--budget", "16", "--", "test_suite.py")
    process = start(suite, *words)
    workers = wait_for(1, suite, process)
    process.kill()
    process.communicate()
    assert not psutil.wait_procs(workers, timeout=20)[1]
    first = saved(suite)

    process = start(suite, *words)
    workers = wait_for(2, suite, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert not psutil.wait_procs(workers, timeout=20)[1]
    second = saved(suite)
    assert second[:1] == first
    assert len(second) == 2
    assert "1 benchmark, 6 runs (and 1 saved): up to about 96 s" in err
    assert "interrupted; 2 runs saved in " in err
    assert err.endswith("; the same command continues\n")
    assert "\ntest_suite.py::\n" in out, "what is known"
    assert "\ntest_sum " in out

    process = start(suite, *words)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    lines = [line for line in err.splitlines() if line.startswith("run ")]
    assert [line.partition(",")[0] for line in lines] == [f"run {number} of 7" for number in range(3, 8)]
    assert all(" left" in line for line in lines)
    runs = saved(suite)
    assert runs[:2] == second
    assert sorted(run["planted"] for run in runs) == [0, 0, *SIZES]
    assert len({run["seed"] for run in runs}) == 7
    verdicts = {run["planted"]: run["verdicts"]["test_suite.py::test_sum"] for run in runs}
    assert [verdicts[size] for size in (0.0, 0.05, 0.08, 0.12)] == ["same", "slower", "slower", "slower"]
    assert (
        "identical code: 0 of 2 verdicts were false positives (95% interval 0.0% to 84.2%), in 0 of 2 runs"
        in out
    )
    (row,) = [line.split() for line in out.splitlines() if "test_sum" in line]
    # At the effect itself a slowdown is found or not, by chance.
    found = f"{min(size for size in SIZES if verdicts[size] == 'slower'):.0%}"
    assert found in ("3%", "5%")
    assert row[3:7] == ["1/1", "1/1", "1/1", found]

    process = start(suite, "ab", ".", ".", "--budget", "20", "--markdown", "ab.md", "--", "test_suite.py")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    lines = (
        "(gnnbench ab, 16 s per benchmark): 0 of 2 verdicts of A/A tests were false positives",
        f"finds {found}: test_sum (1 of 1)",
    )
    for line in lines:
        assert line in out
        assert line in (suite / "ab.md").read_text().replace("`", "")  # in Markdown names are code


def test_a_planted_slowdown_on_a_real_clock(suite):
    (suite / "test_suite.py").write_text(
        "import time\n\ndef test_sleep(benchmark):\n    benchmark(time.sleep, 0.002)\n"
    )
    sides = ("ab", ".", "env:GNNBENCH_SLOWDOWN=0.5", "--budget", "30", "--json", "ab.json")
    process = start(suite, *sides, "--", "test_suite.py", GNNBENCH_FAKE_CLOCK=None)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 1, err
    (found,) = json.loads((suite / "ab.json").read_text())["benchmarks"]
    assert found["verdict"] == "slower"
    assert 1.3 < found["ratio"] < 1.7


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--runs", "-1"), "--runs and --planted must be at least 0, and not both 0"),
        (("--runs", "0", "--planted", "0"), "not both 0"),
        (("--effect", "3"), "effect '3' must lie between 0 and 1"),
        (("--budget", "0"), "must be more than 0 seconds"),
        (
            ("--", "nonexistent.py"),
            "no folder benchmarks here; give the path of the suite: gnnbench calibrate -- PATH",
        ),
        (("--", "test_suite.py", "nonexistent.py"), "nonexistent.py; pytest's arguments come after --"),
        (
            ("--", "test_nothing.py"),
            "pytest finds no benchmarks here; name them: gnnbench calibrate -- PATH",
        ),
        (("--", "test_wrong.py"), "pytest finds no benchmarks: test_wrong.py cannot be collected: "),
    ],
)
def test_wrong_usage_is_a_line(suite, words, text):
    (suite / "test_nothing.py").write_text("def test_plain():\n    pass\n")
    (suite / "test_wrong.py").write_text("def test_(:\n")
    result = gnnbench("calibrate", *words, cwd=suite, **settings(suite))
    assert result.returncode == 2
    assert text in result.stderr
    assert "Traceback" not in result.stderr
    assert not saved(suite)


def judged(verdict):
    return Judgement(verdict, "", ratio=1.0, low=0.9, high=1.1)


class Coordinator:
    """Takes the place of the runs: finds slowdowns of 5 % and more, in no time."""

    def __init__(self):
        self.calls = []
        self.stop_after = None

    def run(self, base, head, arguments, folder, _thresholds, budget, watcher, seed, *, time_all):
        assert time_all, "identical code would not be timed"
        if len(self.calls) == self.stop_after:
            return SimpleNamespace(interrupted=True, decisions={}, notes=(), seconds=1.0)
        self.calls.append((base.environment, head.environment, list(arguments), folder, budget, seed))
        planted = float(head.environment["GNNBENCH_SLOWDOWN"])
        verdict = "slower" if planted >= 0.05 else "same"
        decisions = {
            f"test_suite.py::test_{name}": Decision(judged(verdict), 4, 0, 9, 9, 1.0, decided=True)
            for name in ("a", "[b]")
        }
        watcher.update(decisions, 1.0, 9.0)
        watcher.say("a side was started anew")
        return SimpleNamespace(interrupted=False, decisions=decisions, notes=("a note",), seconds=1.0)

    @property
    def planted(self):
        return [float(call[1]["GNNBENCH_SLOWDOWN"]) for call in self.calls]


@pytest.fixture
def calibrate(tmp_path, monkeypatch, capsys):
    """Return a function that runs the command in this process, and what takes the place of its runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "test_suite.py").touch()
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path / "cache"))
    for name in ("GNNBENCH_FAKE_CLOCK", "GNNBENCH_SLOWDOWN"):
        monkeypatch.delenv(name, raising=False)
    machine = Coordinator()
    monkeypatch.setattr(coordinator, "run", machine.run)
    monkeypatch.setattr(cli_calibrate._Work, "_count", lambda _self: 2)

    def run(*words):
        machine.calls.clear()
        status = main.main(["calibrate", "--runs", "3", "--planted", "2", *words])
        return status, *capsys.readouterr()

    return run, machine


def test_what_it_runs_and_shows(calibrate, tmp_path):
    run, machine = calibrate
    status, out, err = run("--budget", "5", "--total-budget", "8", "--", "test_suite.py", "-k", "x")
    assert status == 0
    assert sorted(machine.planted) == [0, 0, 0, *sorted(SIZES * 2)]
    assert set(machine.planted[:7]) == {0, *SIZES}, "half of it tells something of each size"
    for base, _, arguments, folder, budget, _ in machine.calls:
        assert base["GNNBENCH_SLOWDOWN"] == "0.0"
        assert (arguments, folder) == (["test_suite.py", "-k", "x"], tmp_path)
        assert (budget.per_benchmark_seconds, budget.total_seconds) == (5.0, 8.0)
    assert len({call[-1] for call in machine.calls}) == 13
    assert "2 benchmarks, 13 runs: up to about 104 s" in err
    assert re.search(r"^run 1 of 13, identical code: 2 same; about \d+ s left$", err, re.MULTILINE)
    assert "gnnbench: a note" in err
    rows = [line.split() for line in out.splitlines() if line.startswith("test_")]
    counts = ["0/2", "0/2", "2/2", "2/2", "2/2", "5%"]
    assert rows == [["test_suite.py::"], ["test_a", *counts], ["test_[b]", *counts]]
    assert (
        "identical code: 0 of 6 verdicts were false positives (95% interval 0.0% to 45.9%), in 0 of 3 runs"
        in out
    )


def test_our_own_have_columns_and_fit_80(calibrate, monkeypatch):
    run, machine = calibrate
    names = [
        f"benchmarks/test_loops.py::test_loops[add_remaining_self_loops-{direction}-sparse-float32-int64-{rest}]"
        for direction, rest in (("forward", "cora-256-cpu"), ("forward_backward", "pubmed-256-cpu"))
    ]
    found = machine.run

    def some(*arguments, **options):
        result = found(*arguments, **options)
        result.decisions.clear()
        for name in names:
            result.decisions[name] = Decision(judged("undecided"), 4, 0, 9, 9, 1.0, decided=False)
        return result

    monkeypatch.setattr(coordinator, "run", some)
    out = run("--runs", "1", "--planted", "20")[1]
    assert "slowdowns injected, and in how many runs each was found:" in out
    assert [line for line in out.splitlines() if "cora" in line or "pubmed" in line] == [
        "cora · hidden 256 · float32 · int64 · cpu",
        "pubmed · hidden 256 · float32 · int64 · cpu",
    ]
    rows = [line for line in out.splitlines() if line.startswith("add_")]
    cells = ["sparse", *["0/20"] * 5, "over", "12%"]
    assert [row.split()[1:] for row in rows] == [["fwd", *cells], ["f+b", *cells]]
    assert max(map(len, out.splitlines()[:-1])) <= 80, "in a pipe the last line is whole"


def test_simulated_runs_differ(calibrate, monkeypatch):
    monkeypatch.setenv("GNNBENCH_FAKE_CLOCK", "7:file")
    run, machine = calibrate
    run()
    seeds = [call[0]["GNNBENCH_FAKE_CLOCK"] for call in machine.calls]
    assert seeds[:2] == ["7:file", "1007:file"]
    assert len(set(seeds)) == 13
    assert seeds == [call[1]["GNNBENCH_FAKE_CLOCK"] for call in machine.calls]


def test_a_slowdown_of_the_users_own_is_on_neither_side(calibrate, monkeypatch):
    monkeypatch.setenv("GNNBENCH_SLOWDOWN", "0.5")
    run, machine = calibrate
    run()
    assert machine.calls[0][0]["GNNBENCH_SLOWDOWN"] == machine.calls[0][1]["GNNBENCH_SLOWDOWN"] == "0.0"


def test_what_is_done_is_not_done_again(calibrate):
    run, machine = calibrate
    machine.stop_after = 5
    status, _, err = run()
    assert (status, len(machine.calls)) == (130, 5)
    assert "interrupted; 5 runs saved in " in err
    machine.stop_after = None
    first = machine.planted
    status, _, err = run()
    assert (status, len(machine.calls)) == (0, 8)
    assert "8 runs (and 5 saved): " in err
    assert sorted(first + machine.planted) == [0, 0, 0, *sorted(SIZES * 2)]
    status, out, err = run()
    assert (status, machine.calls) == (0, [])
    assert "all runs are done; --fresh starts again" in err
    assert "5%" in out
    status, _, err = run("--runs", "4")
    assert (status, machine.planted) == (0, [0])


def test_a_fresh_start(calibrate):
    run, machine = calibrate
    run()
    machine.stop_after = 2
    status, _, err = run("--fresh")
    assert (status, len(machine.calls)) == (130, 2)
    assert "interrupted; 2 runs saved in " in err
    assert "the same command without --fresh continues" in err
    machine.stop_after = None
    run()
    assert len(machine.calls) == 11


def test_other_settings_start_a_calibration_of_their_own(calibrate):
    run, machine = calibrate
    run()
    for words in (("--budget", "20"), ("--total-budget", "9"), ("--effect", "5%"), ("--", "test_suite.py")):
        run(*words)
        assert len(machine.calls) == 13, words
        run(*words)
        assert not machine.calls
    run()
    assert not machine.calls, "the first is kept"


def test_a_file_that_cannot_be_used_is_a_line(calibrate, tmp_path):
    run, machine = calibrate
    run()
    (file,) = (tmp_path / "cache" / "calibration").glob("*.json")
    text = file.read_text()
    for damaged in (text[:100], text.replace('"version": 1', '"version": 2')):
        file.write_text(damaged)
        status, _, err = run()
        assert (status, machine.calls) == (2, [])
        assert err.count("\n") == 1
        assert f"{file}: " in err
        assert "remove it, and run gnnbench calibrate again" in err
        assert file.read_text() == damaged


def test_one_benchmark_that_is_found_and_one_that_is_not(calibrate, monkeypatch):
    run, machine = calibrate
    found = machine.run

    def some(*arguments, **options):
        result = found(*arguments, **options)
        result.decisions["test_suite.py::test_c"] = Decision(
            judged("undecided"), 4, 0, 9, 9, 1.0, decided=False
        )
        return result

    monkeypatch.setattr(coordinator, "run", some)
    _, out, err = run()
    assert "1 undecided, 2 same" in err or "2 same, 1 undecided" in err
    (row,) = [line for line in out.splitlines() if "test_c" in line]
    assert row.split()[1:] == ["0/2"] * 5 + ["over", "12%"]


def test_what_a_run_raises_leaves_the_others_saved(calibrate, monkeypatch):
    run, machine = calibrate
    found = machine.run

    def third(*arguments, **options):
        if len(machine.calls) == 3:
            raise UsageError("a side is gone")
        return found(*arguments, **options)

    monkeypatch.setattr(coordinator, "run", third)
    status, _, err = run()
    assert status == 2
    assert "gnnbench: a side is gone" in err
    monkeypatch.setattr(coordinator, "run", found)
    run()
    assert len(machine.calls) == 10


def test_in_a_terminal_one_line_changes(calibrate, monkeypatch):
    run, _ = calibrate
    monkeypatch.setattr("gnnbench.cli.progress.ErrorConsole.is_terminal", True)
    _, _, err = run()
    assert "run 13 of 13, identical code: 2 of 2 benchmarks decided; about 0 s left" in err
    assert "identical code: 2 same" not in err


@pytest.fixture
def too_short(calibrate, monkeypatch):
    """Return a function that has the runs from one on end before anything could be judged."""
    _, machine = calibrate
    found = machine.run

    def after(number):
        def one(*arguments, **options):
            result = found(*arguments, **options)
            if len(machine.calls) > number:
                few = Decision(Judgement("undecided", "2 of 4 pairs"), 2, 0, 9, 9, 1.0, decided=False)
                result.decisions = dict.fromkeys(result.decisions, few)
            return result

        monkeypatch.setattr(coordinator, "run", one)

    return after


def test_the_first_run_in_which_nothing_was_judged_is_the_last_and_is_not_kept(
    calibrate, too_short, tmp_path
):
    run, machine = calibrate
    too_short(0)
    status, out, err = run()
    assert (status, out, len(machine.calls)) == (3, "", 1)
    assert "; this run is not saved, and no more are made: 2 of 4 pairs\n" in err
    assert not saved(tmp_path)


def test_what_was_judged_before_a_run_that_was_not_is_kept(calibrate, too_short, tmp_path):
    run, machine = calibrate
    too_short(4)
    status, out, err = run()
    assert (status, len(machine.calls)) == (3, 5)
    assert "no benchmark could be compared; this run is not saved" in err
    assert len(saved(tmp_path)) == 4
    assert "\ntest_a " in out


def test_a_benchmark_that_was_not_judged_counts_neither_way(calibrate, monkeypatch, tmp_path):
    run, machine = calibrate
    found = machine.run

    def some(*arguments, **options):
        result = found(*arguments, **options)
        few = Judgement("undecided", "2 of 4 pairs")
        result.decisions["test_suite.py::test_c"] = Decision(few, 2, 0, 9, 9, 1.0, decided=False)
        return result

    monkeypatch.setattr(coordinator, "run", some)
    status, out, _ = run()
    assert status == 0
    (row,) = [line for line in out.splitlines() if "test_c" in line]
    assert row.split()[1:] == ["not", "compared"]
    assert "0 of 6 verdicts" in out
    assert {one["verdicts"]["test_suite.py::test_c"] for one in saved(tmp_path)} == {"incomparable"}


def test_a_cache_that_cannot_be_written_is_said_before_anything_is_measured(suite, monkeypatch, capsys):
    monkeypatch.chdir(suite)
    monkeypatch.setenv("GNNBENCH_CACHE", "/proc/cache")
    monkeypatch.setattr(cli_calibrate._Work, "_run", None)
    assert main.main(["calibrate", "--", "test_suite.py"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("gnnbench: the cache folder /proc/cache cannot be written")
    assert line.endswith("set GNNBENCH_CACHE to another folder")
