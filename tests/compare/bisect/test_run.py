"""`gnnbench.compare.bisect.run`: how the lines of a bisection share its time."""

from dataclasses import replace

from gnnbench.compare.bisect import run
from gnnbench.compare.bisect.journal import BisectSetting
from gnnbench.compare.bisect.result import Bisected
from gnnbench.compare.verdict import Thresholds
from tests.compare.ab.workers import Watcher
from tests.compare.bisect.histories import create, in_three_hunks
from tests.compare.bisect.results import finding


def test_the_lines_of_hunks_share_the_time_that_is_left(tmp_path, monkeypatch):
    create(tmp_path, [in_three_hunks(number, 1.0 + number) for number in range(3)], monkeypatch)
    ended = "the time is used up"
    given = []

    def stage(line, _state, setting, _watcher):
        given.append((line.kind, setting.total_seconds))
        if line.kind == "commit":
            found = tuple(finding(line, one, one + 1, a=1.2) for one in range(2))
            return Bisected(line, {}, found, {}, 4, 40.0)
        return Bisected(line, {}, (), {}, 1, setting.total_seconds, ended)

    monkeypatch.setattr(run, "_stage", stage)
    setting = BisectSetting(
        arguments=("test_suite.py",),
        folder=tmp_path,
        cache=tmp_path / "cache",
        thresholds=Thresholds(0.03),
        per_benchmark_seconds=60.0,
        total_seconds=100.0,
        timeout_seconds=60.0,
    )
    found = run.run("git:good", "git:main", setting, Watcher())
    assert given == [("commit", 100.0), ("hunk", 30.0), ("hunk", 30.0)]
    assert (found.unfinished, found.interrupted) == (ended, False)
    given.clear()
    run.run("git:good", "git:main", replace(setting, total_seconds=40.0), Watcher())
    assert given == [("commit", 40.0)], "no time is left"
