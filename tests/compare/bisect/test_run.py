"""`gnnbench.compare.bisect.run`: how the lines of a bisection share its time."""

from gnnbench.compare.bisect import run
from gnnbench.compare.bisect.result import Bisected
from tests.compare.ab.workers import Watcher
from tests.compare.bisect.histories import create, in_three_hunks
from tests.compare.bisect.results import finding, setting


def test_the_lines_of_hunks_share_the_time_that_is_left(tmp_path, monkeypatch):
    create(tmp_path, [in_three_hunks(number, 1.0 + number) for number in range(3)], monkeypatch)
    ended = "the time is used up"
    given = []

    def stage(line, _state, its, _watcher):
        given.append((line.kind, its.total_seconds, its.results))
        if line.kind == "commit":
            found = tuple(finding(line, one, one + 1, a=1.2) for one in range(2))
            return Bisected(line, {}, found, {}, 4, 40.0)
        return Bisected(line, {}, (), {}, 1, its.total_seconds, ended)

    monkeypatch.setattr(run, "_stage", stage)
    found = run.run("git:good", "git:main", setting(tmp_path, total_seconds=100.0), Watcher())
    hunk = ("hunk", 30.0, True)
    assert given == [("commit", 100.0, False), hunk, hunk], "results are compared with those of a hunk"
    assert (found.unfinished, found.interrupted) == (ended, False)
    for more in ({"total_seconds": 40.0}, {"total_seconds": 50.0, "hunks": False}):
        given.clear()
        run.run("git:good", "git:main", setting(tmp_path, **more), Watcher())
        assert given == [("commit", more["total_seconds"], False)], "no time is left, or no hunk is wanted"
