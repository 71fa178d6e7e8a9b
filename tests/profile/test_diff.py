import pytest
import torch
from torch_geometric.nn import GCNConv

from gnnbench.measure.instructions.counting import Instructions
from gnnbench.profile import counts, diff
from tests.profile.subjects import NODES, edge_index, recorded, subject_of, widest

EDGE_INDEX = edge_index()
X = torch.randn(NODES, 64, generator=torch.Generator().manual_seed(1))


def profiled(call, folder):
    """Return a record with the counts of a call that is not the first."""
    call()
    return recorded(counts=counts.take(subject_of(call, "cpu", 5), folder))


def conv(*, cached):
    layer = GCNConv(64, 64, cached=cached)
    return lambda: layer(X, EDGE_INDEX).sum().backward()


def test_gcn_norm_and_its_self_loops_are_what_vanished_when_it_is_cached(tmp_path):
    anew, cached = (profiled(conv(cached=cached), tmp_path) for cached in (False, True))
    changes = diff.diff(anew, cached)
    assert [(change.kind, change.unit, change.name) for change in changes[:2]] == [
        ("vanished", "call", "gcn_norm"),
        ("vanished", "call", "add_remaining_self_loops"),
    ]
    assert {change.kind for change in changes} == {"vanished"}
    assert all("gcn_norm" in (*change.path, change.name) for change in changes)
    assert changes[0].share == pytest.approx(22 / 49)
    assert [change.share for change in changes] == sorted((change.share for change in changes), reverse=True)
    first, second = diff.described(anew, cached).splitlines()[1:3]
    assert " ".join(first.split()) == "vanished 1 call none 45% gcn_norm in call/forward/GCNConv"
    assert " add_remaining_self_loops in" in second
    back = diff.diff(cached, anew)
    assert [change.name for change in back] == [change.name for change in changes]
    assert {change.kind for change in back} == {"appeared"}
    assert diff.described(anew, anew) == "counts: no difference in calls of ranges or operators"


def test_what_is_called_more_often_is_one_change(tmp_path):
    layer = GCNConv(64, 64, cached=True)
    once = profiled(lambda: layer(X, EDGE_INDEX), tmp_path)
    thrice = profiled(lambda: [layer(X, EDGE_INDEX) for _ in range(3)], tmp_path)
    changes = diff.diff(once, thrice)
    assert {(change.kind, change.unit, change.before, change.after) for change in changes} == {
        ("changed", "call", 1, 3)
    }
    assert changes[0].name == "forward"
    assert changes[0].share == pytest.approx(2 / 3)


def test_operators_are_compared_by_range(tmp_path):
    before = profiled(lambda: X + X, tmp_path)
    after = profiled(lambda: torch.sin(X + X + X), tmp_path)
    found = {(change.kind, change.name): change for change in diff.diff(before, after)}
    assert set(found) == {("changed", "aten::add"), ("appeared", "aten::sin")}
    share = pytest.approx(1 / 3)
    assert found["changed", "aten::add"] == diff.CountChange("op", ("call",), "aten::add", 1, 2, share)
    assert "aten::add in call" in diff.described(before, after)


def ranges(**calls):
    rows = [{"path": ["call", name], "count": count} for name, count in calls.items()]
    return recorded(counts={"ranges": rows, "operators": [], "library_calls": []})


def test_calls_without_operators_are_compared_and_a_long_list_shows_the_largest():
    (change,) = diff.diff(ranges(forward=1), ranges(forward=3))
    assert (change.kind, change.name, change.share) == ("changed", "forward", 0)
    lines = diff.described(ranges(), ranges(**{f"part{number}": 3 for number in range(33)})).splitlines()
    assert " 3 calls " in lines[1]
    assert lines[-2] == "and 3 smaller changes"
    assert len(lines) == 33


def test_a_long_path_breaks_at_its_slashes():
    path = ("call", "forward", "GCNConv", "gcn_norm", "fill_diag", "set_diag", "remove_diag")
    changes = [
        diff.CountChange("call", path[:4], "fill_diag", 1, 0, 0.2),
        diff.CountChange("op", path, "torch_sparse::non_diag_mask", 1, 0, 0.1),
    ]
    assert [line[37:] for line in diff.table(changes).splitlines()[1:-1]] == [
        "fill_diag in call/forward/GCNConv/gcn_norm",
        "torch_sparse::non_diag_mask in call/",
        "forward/GCNConv/gcn_norm/fill_diag/",
        "set_diag/remove_diag",
    ]


def test_instructions_are_compared_where_one_counter_counted_both():
    def counted(number, counter):
        frames = {"m:f": 90, "m:g": 10 * number}
        found = Instructions(100 * number, functions={"a:f": 90 * number}, frames=frames)
        section = {"counted": found, "counter": counter, "capability": "avx2"}
        return recorded(counts=ranges().sections["counts"], instructions=section)

    text = diff.described(counted(1, "one"), counted(2, "one"))
    assert "(100 to 200): +10 (+100%) in g; +90 (+100%) in f (a)" in text.replace("\n", " ")
    assert widest(text) <= 80
    text = diff.described(counted(1, "one"), counted(2, "other"))
    assert text.endswith("instructions: not compared, as they were counted by one (avx2) and other (avx2)")
