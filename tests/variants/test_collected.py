from pathlib import Path

from gnnbench.settings import parse
from gnnbench.variants.collected import unmatched

ID = "benchmarks/test_spmm.py::test_spmm[spmm_sum-cora-256-cpu]"
PATTERNS = ("*spmm*", "*no*", "benchmarks/test_no*")
SETTINGS = parse(Path("gnnbench.toml"), {"rules": [{"benchmarks": one, "effect": 0.1} for one in PATTERNS]})


def numbers(*folders):
    return [int(line.split()[1]) for line in unmatched(SETTINGS, [ID], folders)]


def test_rules_that_match_nothing_are_named():
    assert unmatched(SETTINGS, [ID], ["."])[0] == (
        "rule 2 of gnnbench.toml (*no*) matches no benchmark here: "
        "correct its pattern, unless it is for another machine"
    )
    assert numbers(".") == numbers("benchmarks") == numbers("other", "benchmarks") == [2, 3]


def test_rules_about_other_folders_are_left_out():
    assert numbers("benchmarks/small") == numbers("other") == [2]
    assert numbers() == []
