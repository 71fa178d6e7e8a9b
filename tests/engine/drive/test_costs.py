"""Sides with the same fingerprint, of which one costs more."""

import pytest

from gnnbench.engine.drive import coordinator
from tests.engine.process.answers import answering, costing, inspected
from tests.engine.process.workers import Watcher, plan, prepared


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """Return a function that lets both sides answer, and returns the row and the steps."""

    def judge(base, head, **options):
        (tmp_path / "test_a.py").touch()
        base, head = ({"inspect": inspected(work="same"), "cost": cost} for cost in (base, head))
        answering(monkeypatch, tmp_path, ["test_a.py::test_it"], base=base, head=head)
        setting = plan(tmp_path, arguments=["test_a.py"], per_benchmark_seconds=1.0, **options)
        watcher = Watcher()
        (row,) = coordinator.run(prepared("."), prepared("path:other"), setting, watcher).rows
        return row, [text for text, _ in watcher.steps]

    return judge


FAST, SLOW = costing(100, 1e-3), costing(100, 2e-3)


@pytest.mark.parametrize(
    ("base", "head", "cost"),
    [
        ([FAST], [FAST], None),
        ([FAST], [SLOW], 2.0),
        ([SLOW], [FAST], 0.5),
        ([FAST], [costing(1000, 1e-3)], 10.0),
        ([costing(100, None)], [costing(300, 1e-2)], 3.0),
        # Slow for a while: the lowest of all are alike, or those of the same time.
        ([FAST], [SLOW, FAST], None),
        ([FAST, SLOW], [SLOW, SLOW, FAST], None),
        ([FAST, SLOW], [SLOW], None),
        ([FAST], [*[SLOW] * 6, FAST], 2.0),
        ([FAST], [costing(100, 1.3e-3)], None),
        ([costing(9, 1e-3, 1e-3)], [costing(9, 1e-3, 2e-2)], 9.6),
    ],
)
def test_costs_that_differ_each_time_are_timed(judged, base, head, cost):
    row, steps = judged(base, head)
    assert row.judgement.same_code == (cost is None)
    assert row.work.cost == (cost and pytest.approx(cost, rel=0.05))
    assert any("timing benchmark" in step for step in steps) == (cost is not None)
    assert (sum(step.startswith("starting") for step in steps) == 1) == (cost is None)
    if cost == 2.0:
        assert row.notes == ("same code, but a call costs 2.00x",)


def test_a_call_that_cannot_be_repeated_is_not_known_to_be_the_same(judged):
    unseen = {"answer": "cost", "cost": None, "unseen": "the call cannot be repeated (StopIteration)"}
    for base, head in ((unseen, FAST), (FAST, unseen), (FAST, [SLOW, unseen])):
        row, _ = judged(base, head)
        assert not row.judgement.same_code
        assert row.notes == ("code not compared: the call cannot be repeated (StopIteration)",)


def test_where_all_is_timed_costs_are_not_asked_for(judged):
    row, _ = judged("no cost is asked for", "no cost is asked for", time_all=True)
    assert not row.judgement.same_code
    assert row.judgement.ratio
