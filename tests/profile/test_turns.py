from gnnbench.profile.turns import Turns, turns


def section(**self_ns):
    """Return a section of a profile: the times of ranges inside of a call that takes 1000 ns."""
    rows = [{"path": ["call"], "total_ns": [1000, 1000, 1000], "self_ns": [100, 100, 100]}]
    return {
        "rows": rows + [{"path": ["call", name], "self_ns": list(times)} for name, times in self_ns.items()]
    }


def test_ranges_of_both_sides_are_paired_turn_by_turn():
    found = turns(section(spmm=(10, 20, 30), mul=(1, 1, 1)), section(spmm=(11, 21, 31), relu=(1, 1, 1)))
    assert found == {
        ("call",): Turns((100, 100, 100), (100, 100, 100), 0.1),
        ("call", "spmm"): Turns((10, 20, 30), (11, 21, 31), 0.011),
    }


def test_turns_in_which_a_side_has_no_such_range_are_left_out():
    found = turns(section(spmm=(10, 0, 30), mul=(0, 1, 0)), section(spmm=(11, 21, 0), mul=(1, 0, 1)))
    assert found["call", "spmm"] == Turns((10,), (11,), 0.011)
    assert ("call", "mul") not in found
