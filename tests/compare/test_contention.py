import pytest

from gnnbench.compare.comparison import Compared
from gnnbench.compare.contention import notes
from gnnbench.compare.verdict import Judgement

SAME, UNDECIDED = (Compared("a", Judgement(verdict, "", 1.0), 1e-3) for verdict in ("same", "undecided"))


def test_a_busy_machine_is_named_where_it_may_explain_something():
    assert notes(0.63, [SAME, UNDECIDED]) == (
        "the machine was busy: other programs used 63% of its CPU time, maybe why 1 benchmark is undecided",
    )
    assert notes(0.63, [UNDECIDED, UNDECIDED])[0].endswith("why 2 benchmarks are undecided")


@pytest.mark.parametrize(("share", "row"), [(0.63, SAME), (0.05, UNDECIDED), (None, UNDECIDED)])
def test_otherwise_nothing_is_said(share, row):
    assert notes(share, [row]) == ()
