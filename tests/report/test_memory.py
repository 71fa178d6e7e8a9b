from gnnbench.engine.judge.comparison import Compared
from gnnbench.engine.judge.memory import MemoryChange
from gnnbench.engine.judge.verdict import Judgement
from gnnbench.engine.show import wording

MIB = 2**20
SAME = Judgement("same", "a reason", 1.0, 0.99, 1.01, 0.995, 1.005, 0.02)
MORE = MemoryChange("more memory", 4 * MIB, 8 * MIB)
LESS = MemoryChange("less memory", 8 * MIB, 2 * MIB)
ROWS = [
    Compared("test_a", SAME, 1e-3, memory=MemoryChange("same memory", MIB, MIB)),
    Compared("test_b", SAME, 1e-3, notes=("counters: +1 aten::clone",), memory=MORE),
    Compared("test_c", SAME, 1e-3, memory=LESS),
    Compared("test_d", SAME, 1e-3),
]


def test_a_sentence_begins_with_what_fails_and_changes_are_counted():
    assert wording.sentence(ROWS[1]).startswith(
        "more memory: 8.0 MiB beside the inputs, 4.0 MiB in the base (2.00x); same: 1.000x"
    )
    assert wording.sentence(ROWS[2]).endswith(
        "; less memory: 2.0 MiB beside the inputs, 8.0 MiB in the base (0.25x)"
    )
    assert wording.memory_sentence(MemoryChange("more memory", 0, MIB)).endswith("0 B in the base")
    assert wording.count(ROWS) == (
        "0 slower, 0 faster, 4 same, 0 undecided, 0 incomparable; 1 more memory, 1 less memory"
    )
    assert wording.count(ROWS[:1]).endswith("0 incomparable")
