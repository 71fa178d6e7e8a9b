import json
import re
from types import SimpleNamespace

import pytest

from gnnbench.compare.ab import coordinator
from gnnbench.compare.ab.schedule import Decision
from gnnbench.compare.calibration import SIZES
from gnnbench.compare.comparison import Compared, PairCounts
from gnnbench.compare.verdict import Judgement


def saved(folder):
    """Return the runs of all calibrations in the only file."""
    files = list((folder / ".cache" / "calibration").glob("*.json"))
    content = json.loads(files[0].read_text()) if files else {"calibrations": []}
    return [run for one in content["calibrations"] for run in one["runs"]]


def decision(verdict, *, reason="", ratio=1.0):
    low, high = (None, None) if ratio is None else (0.9, 1.1)
    judgement = Judgement(verdict, reason, ratio=ratio, low=low, high=high)
    return Decision(judgement, PairCounts(4, 0, 9, 9, 1.0, decided=verdict != "undecided"))


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

    def run(self, base, head, setting, watcher):
        assert setting.time_all, "identical code would not be timed"
        if len(self.calls) == self.stop_after:
            return SimpleNamespace(interrupted=True, rows=(), notes=(), seconds=1.0)
        planted = float(head.environment["GNNBENCH_SLOWDOWN"])
        found = decision("slower" if planted >= 0.05 else "same")
        if self.too_short_after is not None and len(self.calls) >= self.too_short_after:
            found = TOO_FEW
        self.calls.append((base.environment, head.environment, setting))
        decisions = {**dict.fromkeys(self.names, found), **self.others}
        watcher.update(decisions, 1.0, 7.0)
        rows = [Compared(name, one.judgement, None) for name, one in decisions.items()]
        return SimpleNamespace(interrupted=False, rows=rows, notes=("a note",), seconds=1.0)

    @property
    def planted(self):
        return [float(call[1]["GNNBENCH_SLOWDOWN"]) for call in self.calls]


@pytest.fixture
def machine(monkeypatch):
    """What takes the place of the runs."""
    one = Coordinator()
    monkeypatch.setattr(coordinator, "run", one.run)
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


def test_what_it_runs_and_shows(run, machine, tmp_path, monkeypatch):
    monkeypatch.setenv("GNNBENCH_FAKE_CLOCK", "7:file")
    monkeypatch.setenv("GNNBENCH_SLOWDOWN", "0.5")  # the user's own is on neither side
    status, out, err = run("--budget", "5", "--total-budget", "8", "--", "test_suite.py", "-k", "x")
    assert status == 0
    assert sorted(machine.planted) == [0, 0, 0, *sorted(SIZES * 2)]
    for number, (base, head, setting) in enumerate(machine.calls):
        assert base["GNNBENCH_SLOWDOWN"] == "0.0"
        assert base["GNNBENCH_FAKE_CLOCK"] == head["GNNBENCH_FAKE_CLOCK"] == f"{7 + 1000 * number}:file"
        assert (setting.arguments, setting.folder) == (["test_suite.py", "-k", "x"], tmp_path)
        assert (setting.per_benchmark_seconds, setting.total_seconds) == (5.0, 8.0)
    assert len({setting.seed for _, _, setting in machine.calls}) == 13
    assert re.search(r"^run 1 of 13, identical code: 2 same; about \d+ s left$", err, re.MULTILINE)
    assert "gnnbench: a note" in err
    rows = [line.split() for line in out.splitlines() if line.startswith("test_")]
    counts = ["0/2", "0/2", "2/2", "2/2", "2/2", "5%"]
    assert rows == [["test_suite.py::"], ["test_a", *counts], ["test_[b]", *counts]]
    rate = "0 of 6 verdicts were false positives (95% interval 0.0% to 45.9%), in 0 of 3 runs"
    assert f"identical code: {rate}" in out


def test_what_is_done_is_not_done_again(run, machine):
    machine.stop_after = 5
    status, _, err = run()
    assert (status, len(machine.calls)) == (130, 5)
    assert "interrupted; 5 runs saved in " in err
    machine.stop_after = None
    first = machine.planted
    status, _, err = run()
    assert (status, len(machine.calls)) == (0, 8)
    assert "run 6 of 13, " in err
    assert sorted(first + machine.planted) == [0, 0, 0, *sorted(SIZES * 2)]
    status, out, err = run()
    assert (status, machine.calls) == (0, [])
    assert "all runs are done; --fresh starts again" in err
    assert "5%" in out
    status, _, err = run("--runs", "4")
    assert (status, machine.planted) == (0, [0])
    machine.stop_after = 2
    status, _, err = run("--fresh")
    assert (status, len(machine.calls)) == (130, 2)
    assert "interrupted; 2 runs saved in " in err
    assert "the same command without --fresh continues" in err


def test_a_benchmark_that_is_not_found_or_not_judged(run, machine, tmp_path):
    """What was not judged counts neither way."""
    machine.others |= {"test_suite.py::test_c": decision("undecided"), "test_suite.py::test_d": TOO_FEW}
    status, out, err = run()
    assert status == 0
    assert ": 1 incomparable, 2 same, 1 undecided; " in err
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.startswith("test_")}
    assert rows["test_c"] == [*["0/2"] * 5, "over", "12%"]
    assert rows["test_d"] == ["not", "compared"]
    assert "0 of 9 verdicts" in out
    assert {one["verdicts"]["test_suite.py::test_d"] for one in saved(tmp_path)} == {"incomparable"}


def test_the_first_run_in_which_nothing_was_judged_is_the_last_and_is_not_kept(run, machine, tmp_path):
    machine.too_short_after = 4
    status, out, err = run()
    assert (status, len(machine.calls)) == (3, 5)
    said = "no benchmark could be compared; this run is not saved, and no more are made: 2 of 4 pairs\n"
    assert said in err
    assert len(saved(tmp_path)) == 4
    assert "\ntest_a " in out


def test_a_cache_that_cannot_be_written_is_said_before_anything_is_measured(run, machine, monkeypatch):
    monkeypatch.setenv("GNNBENCH_CACHE", "/proc/cache")
    status, out, err = run()
    assert (status, out, machine.calls) == (2, "", [])
    assert err.startswith("gnnbench: the cache folder /proc/cache cannot be written")
    assert err.endswith("set GNNBENCH_CACHE to another folder\n")
