"""A bisection of outputs whose comparisons answer what a test says."""

from types import SimpleNamespace

import pytest

from gnnbench.engine.drive.bisect import bisection, outputs
from gnnbench.engine.ground.cpu import RealTime
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.judge.comparison import Agreement
from gnnbench.engine.judge.visit import Inspections
from tests.engine.drive.bisect.results import commits, setting
from tests.engine.process.workers import Watcher


@pytest.fixture
def bisect(tmp_path, monkeypatch):
    """Return a function that bisects nine candidates, from 6 on with another output; errors are raised."""
    seconds = [0.0]

    def compare(base, head, _plan, _watcher):
        seconds[0] += 10
        answer = compare.answers.pop(0) if compare.answers else None
        compare.compared.append(head)
        if answer:
            raise answer
        row = Agreement("differ" if base < 6 <= head else "equal")
        return SimpleNamespace(
            benchmarks={"a": Inspections()}, rows=lambda _: [SimpleNamespace(fullname="a", results=row)]
        )

    monkeypatch.setattr(RealTime, "seconds", lambda: seconds[0])
    monkeypatch.setattr(outputs, "preparer", lambda *_: lambda position: position)
    monkeypatch.setattr(outputs.affected, "run", compare)
    monkeypatch.setattr(outputs.History, "between", lambda *_: commits(8))

    def run(*answers, **more):
        compare.answers, compare.compared = [*answers], []
        result = outputs.run("git:good", "git:main", setting(tmp_path, **more), Watcher())
        return result, [len(change.causes) for change in result.changes], compare.compared

    return run


def test_an_interrupted_search_for_outputs_gives_a_range_and_continues(bisect):
    found, sizes, compared = bisect(None, None, KeyboardInterrupt)
    assert (found.unfinished, sizes, compared) == (bisection.INTERRUPTED, [4], [8, 4, 6])
    found, sizes, compared = bisect()
    assert (found.unfinished, sizes, compared) == (None, [1], [6, 5, 8])
    assert bisect()[2] == [8, 4, 6, 5, 8], "it is finished"


def test_a_search_for_outputs_ends_with_its_time(bisect):
    found, sizes, compared = bisect(total_seconds=15.0)
    assert (found.unfinished, sizes, compared) == (bisection.TIME_IS_USED_UP, [4], [8, 4])


def test_a_candidate_that_cannot_be_built_is_tried_again(bisect):
    found, sizes, _ = bisect(None, UsageError("no compiler"), KeyboardInterrupt)
    assert (list(found.unmeasured.values()), sizes) == (["no compiler"], [8])
    found, sizes, compared = bisect()
    assert (found.unmeasured, sizes, compared) == ({}, [1], [4, 6, 5, 8])
