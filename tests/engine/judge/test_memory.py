import pytest

from gnnbench.engine.ground import codec
from gnnbench.engine.judge.memory import MemoryChange, Peaks

MIB = 2**20


def verdict(base, head):
    sides = (Peaks(*one) if isinstance(one, tuple) else Peaks(one, one) for one in (base, head))
    found = MemoryChange.between(*sides)
    assert codec.decode(codec.encode(found), MemoryChange) == found
    return found.verdict


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        (MIB, MIB, "same memory"),
        (MIB, MIB + 64 * 1024, "more memory"),
        (MIB, MIB + 64 * 1024 - 1, "same memory"),
        (MIB, MIB - 64 * 1024, "less memory"),
        (1000 * MIB, 1010 * MIB, "more memory"),
        (1000 * MIB, 1010 * MIB - 1, "same memory"),
        (0, MIB, "more memory"),
        (MIB, 0, "less memory"),
    ],
)
def test_a_verdict_needs_one_percent_and_64_kib(base, head, expected):
    assert verdict(base, head) == expected


def test_calls_that_differ_among_themselves_need_a_larger_difference():
    base = (100 * MIB, 101 * MIB)
    assert verdict(base, (100 * MIB, 104 * MIB)) == "same memory"
    assert verdict(base, 110 * MIB) == "same memory"
    assert verdict(base, 111 * MIB) == "more memory"
    assert verdict(90 * MIB, base) == "more memory"
    found = MemoryChange.between(Peaks(*base), Peaks(200 * MIB, 201 * MIB))
    assert found == MemoryChange("more memory", 101 * MIB, 200 * MIB)


def test_a_process_without_a_peak_leaves_its_side_without_one():
    assert Peaks.all([Peaks(1, 2), Peaks(2, 5)]) == Peaks(1, 5)
    assert Peaks.all([Peaks(1, 2), None]) is None
