from gnnbench.workloads.graphs.relation import Relation, reverses

WRITES, CITES = Relation("author", "writes", "paper"), Relation("paper", "cites", "paper")


def test_a_reverse_runs_the_other_way() -> None:
    assert WRITES.reverse == ("paper", "rev_writes", "author")
    assert WRITES.reverse.is_reverse
    assert not WRITES.is_reverse


def test_each_relation_finds_its_reverse_or_itself() -> None:
    assert reverses([WRITES.reverse, CITES, WRITES]) == [2, 1, 0]
    assert reverses([WRITES, CITES, CITES.reverse]) == [0, 2, 1]
    assert reverses([]) == []
