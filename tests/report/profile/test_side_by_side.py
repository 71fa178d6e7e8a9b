import pytest

from gnnbench.packages import missing
from gnnbench.profile import layers, phases
from gnnbench.report.profile import side_by_side
from gnnbench.workloads import platforms
from tests.profile.subjects import epoch, widest

KINDS = (phases, layers)


def row(*path, times, calls=1):
    inner = {"total_ns": [round(1e6 * time) for time in times], "self_ns": [0] * len(times)}
    return {"path": ["call", *path], "calls": [calls] * len(times), "cold_ns": 0, **inner}


def record(platform, *rows, dataset="cora", operation="epoch", **sections):
    spec = {"platform": platform, "dataset": dataset, "operation": operation}
    return {"id": platform, "spec": spec, "sections": {"layers": {"rows": list(rows)}, **sections}}


PYG = record(
    "pyg",
    row(times=[10, 12, 10]),
    row("forward", times=[6, 6, 60]),
    row("forward", "GCNConv", times=[5, 5, 5]),
    row("forward", "GCNConv", "gcn_norm", times=[2, 2, 2], calls=3),
    row("forward", "GCNConv", "gcn_norm", "mul", times=[1, 1, 1]),
    row("forward", "GCNConv", "x·W", times=[1, 1, 1]),
    row("forward", "GCNConv", "mul", times=[0.5, 0.5, 0.5]),
    row("backward", times=[4, 4, 4]),
)
DGL = record(
    "dgl",
    row(times=[5, 5, 5]),
    row("forward", times=[3, 3, 3]),
    row("forward", "GraphConv", times=[2.5, 2.5, 2.5], calls=3),
    row("forward", "GraphConv", "degrees", times=[1, 1, 1], calls=9),
    row("forward", "GraphConv", "x·W", times=[1, 1, 1]),
    row("backward", times=[2, 2, 2]),
    counts={"operators": [{"path": [], "name": "aten::_local_scalar_dense", "count": 6}]},
)


def test_platforms_are_lined_up_by_name_with_medians_and_ratios_to_the_first():
    lines = side_by_side.table([PYG, DGL], "layers").splitlines()
    assert [line.split() for line in lines[:10]] == [
        ["layers", "pyg", "dgl"],
        ["forward", "6.00", "ms", "3.00", "ms", "0.50x"],
        ["layer", "5.00", "ms", "2.50", "ms", "0.50x"],
        ["degrees", "1.00", "ms"],
        ["gcn_norm", "2.00", "ms"],
        ["mul", "1.50", "ms"],
        ["x·W", "1.00", "ms", "1.00", "ms", "1.00x"],
        ["backward", "4.00", "ms", "2.00", "ms", "0.50x"],
        ["the", "rest"],
        ["the", "whole", "10.0", "ms", "5.00", "ms", "0.50x"],
    ]
    assert "layer: GCNConv (pyg), GraphConv (dgl)." in lines


def test_what_happened_in_the_first_call_only_has_no_row():
    rows = [*PYG["sections"]["layers"]["rows"], row("forward", "cached", times=[0, 0, 0], calls=0)]
    assert "cached" not in side_by_side.table([record("pyg", *rows), DGL], "layers")


def test_real_profiles_of_all_platforms_have_room(make_case, tmp_path):
    records = []
    for platform in platforms.PLATFORMS.values():
        if missing(platform.packages):
            continue
        subject = epoch(make_case("epoch", platform.name, "train"))
        sections = {kind.__name__.rpartition(".")[2]: kind.take(subject, tmp_path) for kind in KINDS}
        records.append({**record(platform.name), "sections": sections})
    for kind, inner in (("phases", ()), ("layers", ("  layer", "  x·W"))):
        text = side_by_side.table(records, kind)
        assert widest(text) <= 80
        for name in ("forward", "backward", "optimizer.step", *inner):
            (line,) = [line for line in text.splitlines() if line.startswith(f"{name} ")]
            assert line.count("s") >= len(records)  # a time each
            assert line.count("x ") + line.endswith("x") == len(records) - 1


@pytest.mark.parametrize(
    ("times", "ratio"),
    [
        (0.0012, "<.01x"),
        (0.0123, "0.01x"),
        (9.994, "9.99x"),
        (9.996, "10.0x"),
        (12.34, "12.3x"),
        (123.4, "123x"),
        (12345, ">999x"),
    ],
)
def test_a_ratio_has_room_whatever_it_is(times, ratio):
    one = record("pyg", row(times=[1]), row("forward", times=[1]))
    others = [record(name, row(times=[1]), row("forward", times=[times])) for name in ("a", "b", "c")]
    text = side_by_side.table([one, *others], "layers")
    assert text.splitlines()[1].split().count(ratio) == 3
    assert widest(text) <= 80
