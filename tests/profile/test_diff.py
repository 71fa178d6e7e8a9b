import pytest
import torch
from torch_geometric.nn import GCNConv

from gnnbench.profile import counts, diff, layers
from gnnbench.profile.subject import Subject
from tests.profile.subjects import NODES, edge_index

EDGE_INDEX = edge_index()
X = torch.randn(NODES, 64, generator=torch.Generator().manual_seed(1))


def profiled(call, folder, *kinds):
    """Return a record with sections of some kinds, and the counts, which are not of the first call."""
    subject = Subject(call, "cpu", 5)
    if not kinds:
        call()
    sections = {kind.__name__.rpartition(".")[2]: kind.take(subject, folder) for kind in kinds}
    return {"sections": {**sections, "counts": counts.take(subject, folder)}}


def conv(*, cached):
    layer = GCNConv(64, 64, cached=cached)
    return lambda: layer(X, EDGE_INDEX).sum().backward()


def test_gcn_norm_and_its_self_loops_are_what_vanished_when_it_is_cached(tmp_path):
    anew, cached = (profiled(conv(cached=cached), tmp_path) for cached in (False, True))
    changes = diff.diff(anew, cached)
    assert [(change.kind, change.unit, change.name) for change in changes[:2]] == [
        ("vanished", "calls", "gcn_norm"),
        ("vanished", "calls", "add_remaining_self_loops"),
    ]
    assert {change.kind for change in changes} == {"vanished"}
    assert all("gcn_norm" in change.path for change in changes)
    assert changes[0].share == pytest.approx(22 / 49)
    assert [change.share for change in changes] == sorted((change.share for change in changes), reverse=True)
    first, second = diff.table(changes).splitlines()[1:3]
    assert " ".join(first.split()) == "vanished 1 call none 45% gcn_norm in call/forward/GCNConv"
    assert " add_remaining_self_loops in" in second
    back = diff.diff(cached, anew)
    assert [change.name for change in back] == [change.name for change in changes]
    assert {change.kind for change in back} == {"appeared"}


def test_times_are_no_part_of_it(tmp_path):
    """Two records are of two moments: what the machine did meanwhile would be among the changes."""
    call = conv(cached=False)
    before, after = (profiled(call, tmp_path, layers) for _ in range(2))
    for row in after["sections"]["layers"]["rows"]:
        row["self_ns"] = [10 * time_ns for time_ns in row["self_ns"]]
    changes = diff.diff(before, after)
    assert changes == []
    assert diff.table(changes) == "counts: no difference in calls of ranges or operators"


def test_what_is_called_more_often_is_one_change(tmp_path):
    layer = GCNConv(64, 64, cached=True)
    once = profiled(lambda: layer(X, EDGE_INDEX), tmp_path)
    thrice = profiled(lambda: [layer(X, EDGE_INDEX) for _ in range(3)], tmp_path)
    changes = diff.diff(once, thrice)
    assert {(change.kind, change.unit, change.before, change.after) for change in changes} == {
        ("changed", "calls", 1, 3)
    }
    assert changes[0].name == "forward"
    assert changes[0].share == pytest.approx(2 / 3)


def test_operators_are_compared_by_range(tmp_path):
    before = profiled(lambda: X + X, tmp_path)
    after = profiled(lambda: torch.sin(X + X + X), tmp_path)
    found = {(change.kind, change.name): change for change in diff.diff(before, after)}
    assert set(found) == {("changed", "aten::add"), ("appeared", "aten::sin")}
    add = found["changed", "aten::add"]
    assert (add.unit, add.path, add.before, add.after) == ("operators", ("call",), 1, 2)
    assert add.share == pytest.approx(1 / 3)
    assert "aten::add in call" in diff.table([add])


def test_a_long_list_shows_the_largest():
    change = diff.CountChange("appeared", "operators", ("call",), "aten::sin", 0, 1, 0.1)
    lines = diff.table([change] * 33).splitlines()
    assert lines[-2] == "and 3 smaller changes"
    assert len(lines) == 33


def test_calls_that_have_no_operators_are_compared():
    def ranges(**counts):
        rows = [{"path": ["call", name], "count": count} for name, count in counts.items()]
        return {"sections": {"counts": {"ranges": rows, "operators": [], "library_calls": []}}}

    (change,) = diff.diff(ranges(forward=1), ranges(forward=3))
    assert (change.kind, change.name, change.share) == ("changed", "forward", 0)
    assert " 3 calls " in diff.table([change])


def test_a_long_path_breaks_at_its_slashes():
    path = ("call", "forward", "GCNConv", "gcn_norm", "fill_diag", "set_diag", "remove_diag")
    changes = [
        diff.CountChange("vanished", "calls", path[:5], "fill_diag", 1, 0, 0.2),
        diff.CountChange("vanished", "operators", path, "torch_sparse::non_diag_mask", 1, 0, 0.1),
    ]
    assert [line[37:] for line in diff.table(changes).splitlines()[1:-1]] == [
        "fill_diag in call/forward/GCNConv/gcn_norm",
        "torch_sparse::non_diag_mask in call/",
        "forward/GCNConv/gcn_norm/fill_diag/",
        "set_diag/remove_diag",
    ]
