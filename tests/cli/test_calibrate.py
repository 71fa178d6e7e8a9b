import json
import re
import signal
from types import SimpleNamespace

import psutil
import pytest

from gnnbench.cli import calibrate as cli_calibrate
from gnnbench.compare.ab import coordinator
from gnnbench.compare.ab.schedule import Decision
from gnnbench.compare.calibration import SIZES, CalibrationSettings
from gnnbench.compare.verdict import Judgement
from tests.cli.started import start, workers_of
from tests.compare.ab.answers import answering
from tests.compare.ab.workers import write

SUITE = """
def test_sum(benchmark):
    benchmark(sum, range(100))
"""
TRUTHS = {
    "benchmarks": {"test_sum": 1e-3},
    "noise": {"sigma": 0.002, "spike_probability": 0, "drift": 0.02},
}


VARIABLES = {"GNNBENCH_FAKE_CLOCK": "5:truths.json", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def saved(folder):
    """Return the runs of all calibrations in the only file."""
    files = list((folder / ".cache" / "calibration").glob("*.json"))
    content = json.loads(files[0].read_text()) if files else {"calibrations": []}
    return [run for one in content["calibrations"] for run in one["runs"]]


@pytest.mark.nightly
def test_it_goes_on_where_it_was_stopped(tmp_path, in_process, monkeypatch):
    """Real runs, of which the second is interrupted; what was learnt stands beside the table of `ab`."""
    write(tmp_path, SUITE)
    (tmp_path / "truths.json").write_text(json.dumps(TRUTHS))
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    words = ("calibrate", "--planted", "0", "--budget", "100")
    result = in_process(*words, "--runs", "1", "--", "test_suite.py")
    assert result.returncode == 0, result.stderr
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("run ")]
    assert line.startswith("run 1 of 1, identical code: 1 same; about ")
    first = saved(tmp_path)
    assert [run["planted"] for run in first] == [0]
    assert "identical code: 0 of 1 verdicts were false positives" in result.stdout

    variables = {**VARIABLES, "GNNBENCH_CACHE": str(tmp_path / ".cache")}
    process = start(tmp_path, *words, "--runs", "2", "--", "test_suite.py", **variables)
    workers = workers_of(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert not psutil.wait_procs(workers, timeout=20)[1]
    assert saved(tmp_path) == first
    assert "1 benchmark, 1 run (and 1 saved): up to about 100 s" in err
    assert "interrupted; 1 run saved in " in err
    assert err.endswith("; the same command continues\n")
    assert "\ntest_suite.py::\n" in out, "what is known"
    assert "\ntest_sum" in out

    result = in_process("ab", ".", ".", "--markdown", "ab.md", "--", "test_suite.py")
    assert result.returncode == 0, result.stderr
    line = "(gnnbench ab, 100 s per benchmark): 0 of 1 verdicts of A/A tests were false positives"
    assert line in result.stdout
    assert line in (tmp_path / "ab.md").read_text().replace("`", "")  # in Markdown names are code


def decision(verdict, *, reason="", ratio=1.0):
    low, high = (None, None) if ratio is None else (0.9, 1.1)
    judgement = Judgement(verdict, reason, ratio=ratio, low=low, high=high)
    return Decision(judgement, 4, 0, 9, 9, 1.0, decided=verdict != "undecided")


TOO_FEW = decision("undecided", reason="2 of 4 pairs", ratio=None)
"""Of a run that ended before anything could be judged."""


class Coordinator:
    """Takes the place of the runs: finds slowdowns of 5 % and more, in no time."""

    def __init__(self):
        self.calls = []
        self.stop_after = self.too_short_after = None
        self.names = ["test_suite.py::test_a", "test_suite.py::test_[b]"]
        self.others = {}
        """Further decisions of each run."""

    def run(self, base, head, arguments, folder, _thresholds, budget, watcher, seed, *, time_all):
        assert time_all, "identical code would not be timed"
        if len(self.calls) == self.stop_after:
            return SimpleNamespace(interrupted=True, decisions={}, notes=(), seconds=1.0)
        planted = float(head.environment["GNNBENCH_SLOWDOWN"])
        found = decision("slower" if planted >= 0.05 else "same")
        if self.too_short_after is not None and len(self.calls) >= self.too_short_after:
            found = TOO_FEW
        self.calls.append((base.environment, head.environment, list(arguments), folder, budget, seed))
        decisions = {**dict.fromkeys(self.names, found), **self.others}
        watcher.update(decisions, 1.0, 9.0)
        watcher.say("a side was started anew")
        return SimpleNamespace(interrupted=False, decisions=decisions, notes=("a note",), seconds=1.0)

    @property
    def planted(self):
        return [float(call[1]["GNNBENCH_SLOWDOWN"]) for call in self.calls]


@pytest.fixture
def machine(monkeypatch):
    """What takes the place of the runs."""
    one = Coordinator()
    monkeypatch.setattr(coordinator, "run", one.run)
    monkeypatch.setattr(cli_calibrate._Work, "_count", lambda _self: 2)
    return one


@pytest.fixture
def run(machine, in_process, tmp_path):
    """Return a function that runs the command with these."""
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "test_suite.py").touch()

    def run(*words):
        machine.calls.clear()
        result = in_process("calibrate", "--runs", "3", "--planted", "2", *words)
        return result.returncode, result.stdout, result.stderr

    return run


def test_what_it_runs_and_shows(run, machine, tmp_path):
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


@pytest.mark.nightly
def test_our_own_have_columns_and_fit_80(run, machine):
    machine.names.clear()
    for direction, rest in (("forward", "cora-256-cpu"), ("forward_backward", "pubmed-256-cpu")):
        case = f"add_remaining_self_loops-{direction}-sparse-float32-int64-{rest}"
        machine.others[f"benchmarks/test_loops.py::test_loops[{case}]"] = decision("undecided")
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


def test_simulated_runs_differ_and_a_slowdown_of_the_users_own_is_on_neither_side(run, machine, monkeypatch):
    monkeypatch.setenv("GNNBENCH_FAKE_CLOCK", "7:file")
    monkeypatch.setenv("GNNBENCH_SLOWDOWN", "0.5")
    run()
    seeds = [call[0]["GNNBENCH_FAKE_CLOCK"] for call in machine.calls]
    assert seeds[:2] == ["7:file", "1007:file"]
    assert len(set(seeds)) == 13
    assert seeds == [call[1]["GNNBENCH_FAKE_CLOCK"] for call in machine.calls]
    assert machine.calls[0][0]["GNNBENCH_SLOWDOWN"] == machine.calls[0][1]["GNNBENCH_SLOWDOWN"] == "0.0"


def test_what_is_done_is_not_done_again(run, machine):
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


def test_a_fresh_start(run, machine):
    run()
    machine.stop_after = 2
    status, _, err = run("--fresh")
    assert (status, len(machine.calls)) == (130, 2)
    assert "interrupted; 2 runs saved in " in err
    assert "the same command without --fresh continues" in err
    machine.stop_after = None
    run()
    assert len(machine.calls) == 11


def test_other_settings_start_a_calibration_of_their_own(run, machine):
    run()
    for words in (("--budget", "20"), ("--total-budget", "9"), ("--effect", "5%"), ("--", "test_suite.py")):
        run(*words)
        assert len(machine.calls) == 13, words
        run(*words)
        assert not machine.calls
    run()
    assert not machine.calls, "the first is kept"


@pytest.mark.parametrize(
    ("other", "cells", "verdict", "verdicts"),
    [
        (decision("undecided"), [*["0/2"] * 5, "over", "12%"], "undecided", 9),
        (TOO_FEW, ["not", "compared"], "incomparable", 6),
    ],
)
def test_a_benchmark_that_is_not_found_or_not_judged(run, machine, tmp_path, other, cells, verdict, verdicts):
    """What was not judged counts neither way."""
    machine.others["test_suite.py::test_c"] = other
    status, out, err = run()
    assert status == 0
    assert f": 1 {verdict}, 2 same; " in err or f": 2 same, 1 {verdict}; " in err
    (row,) = [line for line in out.splitlines() if "test_c" in line]
    assert row.split()[1:] == cells
    assert f"0 of {verdicts} verdicts" in out
    assert {one["verdicts"]["test_suite.py::test_c"] for one in saved(tmp_path)} == {verdict}


def test_in_a_terminal_one_line_changes(run, monkeypatch):
    monkeypatch.setattr("gnnbench.cli.progress.ErrorConsole.is_terminal", True)
    _, _, err = run()
    assert "run 13 of 13, identical code: 2 of 2 benchmarks decided; about 0 s left" in err
    assert "identical code: 2 same" not in err


@pytest.mark.parametrize("kept", [0, 4])
def test_the_first_run_in_which_nothing_was_judged_is_the_last_and_is_not_kept(run, machine, tmp_path, kept):
    machine.too_short_after = kept
    status, out, err = run()
    assert (status, len(machine.calls)) == (3, kept + 1)
    assert (
        "no benchmark could be compared; this run is not saved, and no more are made: 2 of 4 pairs\n" in err
    )
    assert len(saved(tmp_path)) == kept
    assert ("\ntest_a " in out) if kept else (out == "")


def test_a_cache_that_cannot_be_written_is_said_before_anything_is_measured(run, machine, monkeypatch):
    monkeypatch.setenv("GNNBENCH_CACHE", "/proc/cache")
    status, out, err = run()
    assert (status, out, machine.calls) == (2, "", [])
    (line,) = err.splitlines()
    assert line.startswith("gnnbench: the cache folder /proc/cache cannot be written")
    assert line.endswith("set GNNBENCH_CACHE to another folder")


def test_benchmarks_that_are_not_default_are_not_counted(tmp_path, monkeypatch):
    names = ["test_a.py::test_a", "test_a.py::test_b", "test_a.py::test_c"]
    collected = {"answer": "collected", "names": names, "declared": names[:2], "left_out": names[1:]}
    answering(monkeypatch, tmp_path, names, base={"collected": {**collected, "refused": {}}})
    settings = CalibrationSettings(str(tmp_path), ("test_a.py",), 1.0, None, 0.03)
    assert cli_calibrate._Work(None, settings, 1, 0)._count() == 1
