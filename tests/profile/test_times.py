import random

from gnnbench.compare.ab.visit import Visit
from gnnbench.compare.verdict import Thresholds
from gnnbench.profile import times
from gnnbench.profile.times import PAIRS, Range
from tests.profile.subjects import recorded, widest

THRESHOLDS = Thresholds(0.03)


def side(**self_ns):
    """Return the record of a side: the times of ranges inside of a call that takes 1000 ns."""
    root = {"path": ["call"], "total_ns": [1000] * 3, "self_ns": [100] * 3}
    rows = [root, *({"path": ["call", name], "self_ns": list(values)} for name, values in self_ns.items())]
    return {"test_a": recorded(layers={"rows": rows})}


def test_ranges_of_both_sides_are_paired_turn_by_turn_and_small_ones_are_left_out():
    before = side(spmm=(10, 0, 30), mul=(0, 1, 0), small=(9, 9, 9), gone=(500, 500, 500))
    after = side(spmm=(11, 21, 0), mul=(1, 0, 1), small=(8, 8, 8), new=(500, 500, 500))
    assert times.times_of([(before, after), (before, after)], "layers") == {
        Range("test_a", ("call",)): [Visit((100,) * 3, (100,) * 3, 3, 0.0)] * 2,
        Range("test_a", ("call", "spmm")): [Visit((10,), (11,), 1, 0.0)] * 2,
    }


def test_a_process_makes_as_many_calls_as_fit_in_a_second():
    records = [recorded(phases={"rows": [{"total_ns": [ns, 2 * ns]}]}) for ns in (10**8, 3 * 10**8)]
    assert times.kind_of(records) == "phases"
    assert times.kind_of([*records, recorded()]) is None
    assert times.calls_of(records, "phases") == 5
    assert times.calls_of([recorded(phases={"rows": [{"total_ns": [10]}]})], "phases") == times.MOST_CALLS


def drawn(seed, ranges, factor=1.0):
    """Return the times of some ranges in PAIRS pairs; of the first the second side's are longer.

    Processes differ by some percent, calls by more, and now and then one is interrupted.
    """
    rng = random.Random(seed)

    def calls(nanoseconds):
        mean = nanoseconds * rng.lognormvariate(0, 0.03)
        noise = (rng.lognormvariate(0, 0.05) + (rng.random() < 0.1) * rng.expovariate(0.2) for _ in range(20))
        return tuple(round(mean * one) for one in noise)

    found = {}
    for number in range(ranges):
        slower = factor if not number else 1.0
        pairs = [Visit(calls(1e6), calls(1e6 * slower), 20, 0.0) for _ in range(PAIRS)]
        found[Range("test_a", ("call", f"range {number}"))] = pairs
    return found


def changed(found):
    judgements = times.judge(found, THRESHOLDS)
    return [name.path[-1] for name, one in judgements.items() if one.verdict in ("slower", "faster")]


def test_identical_code_has_no_changed_range():
    assert [changed(drawn(seed, 15)) for seed in range(20)].count([]) >= 19
    assert changed({}) == []


def test_the_range_that_takes_longer_is_the_one_that_changed():
    found = drawn(1, 15, factor=1.5)
    assert changed(found) == ["range 0"]
    judgements = times.judge(found, THRESHOLDS)
    text = times.table("test_a", found, judgements)
    head, row = text.splitlines()
    assert head.split() == ["Time", "Before", "After", "Ratio", "Interval", "What"]
    assert row.startswith("slower ")
    assert row.endswith("range 0 in call")
    assert times.table("test_b", found, judgements).startswith("times: no range differs")
    note = times.note(judgements, THRESHOLDS)
    assert "15 ranges of at least 1.0% of a call compared" in note.replace("\n", " ")
    assert widest(f"{text}\n{note}") <= 80
