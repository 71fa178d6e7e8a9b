import pytest

from gnnbench.profile import counts, layers, phases
from gnnbench.report.profile import side_by_side
from tests.profile.subjects import epoch, widest


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


@pytest.mark.parametrize("kind", ["phases", "layers"])
def test_four_platforms_of_cora_have_room(make_case, cora, tmp_path, kind):
    module = {"phases": phases, "layers": layers}[kind]
    records = []
    for platform in ("pyg", "sparse", "torch", "dgl"):
        case = make_case("epoch", platform, "train", hidden=256, graph=cora)
        section = module.take(epoch(case), tmp_path)
        records.append({**record(platform), "sections": {kind: section}})
    text = side_by_side.table(records, kind)
    assert widest(text) <= 80
    for name in (
        "forward",
        "backward",
        "optimizer.step",
        *(["  layer", "  x·W"] if kind == "layers" else []),
    ):
        (line,) = [line for line in text.splitlines() if line.startswith(f"{name} ")]
        assert line.count("s") >= 4  # a time each
        assert line.count("x ") + line.endswith("x") == 3


def test_the_published_figures_stand_beside_todays_counts_and_fractions_of_the_same_path():
    text = side_by_side.seed_table([PYG, DGL])
    lines = {line.split("|")[0].strip(): line.split("|")[1:] for line in text.splitlines() if "|" in line}
    cells = {name: [cell.strip() for cell in row] for name, row in lines.items()}
    assert cells["gcn_norm"] == ["3", "5.80 ms", "43%", "3", "19%"]  # 6 of 32 ms
    assert cells["graphconv forward"] == ["3", "6.87 ms", "50%", "3", "50%"]
    assert cells[".item()"] == ["6", "", "", "6", ""]
    assert cells["in_degrees"] == ["6", "", "", "9", "20%"]
    assert "github.com/jh0shin/Graph-Neural-Network, 2021" in text
    assert widest(text) <= 80


def test_ogbn_arxiv_is_compared_with_sparse_tensor_and_its_fractions_are_of_four_phases():
    sparse = {**PYG, "spec": {**PYG["spec"], "platform": "sparse", "dataset": "ogbn-arxiv:synthetic@0.1"}}
    text = side_by_side.seed_table([sparse])
    assert "today, sparse" in text
    (forward, *_) = [line for line in text.splitlines() if line.startswith("forward")]
    assert [cell.strip() for cell in forward.split("|")[1:4]] == ["1", "60.0 ms", "67%"]
    (message,) = [line for line in text.splitlines() if line.startswith("message_and_aggregate")]
    assert [cell.strip() for cell in message.split("|")[1:]] == ["3", "12.4 ms", "41%", "0", "0.0%"]
    assert widest(text) <= 80


@pytest.mark.parametrize("changes", [{"dataset": "pubmed"}, {"operation": "conv"}])
def test_what_has_no_published_figures_is_said(changes):
    other = {**PYG, "spec": {**PYG["spec"], **changes}}
    assert side_by_side.seed_table([other]).startswith("Published figures exist only for the epoch on")


def test_a_benchmark_of_somebody_else_has_no_published_figures():
    assert side_by_side.seed_table([{**PYG, "spec": None}]).startswith("Published figures exist only")


def test_counts_of_a_real_profile_are_read(make_case, tmp_path):
    subject = epoch(make_case("epoch", "dgl", "train"))
    sections = {"phases": phases.take(subject, tmp_path), "counts": counts.take(subject, tmp_path)}
    text = side_by_side.seed_table([{**record("dgl"), "sections": sections}])
    (item,) = [line for line in text.splitlines() if line.startswith(".item()")]
    assert int(item.split("|")[4]) >= 6


@pytest.mark.parametrize(
    ("times", "ratio"),
    [
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


def test_the_dataset_that_was_profiled_is_named_where_it_is_not_the_published():
    spec = {**PYG["spec"], "platform": "sparse", "dataset": "ogbn-arxiv:synthetic@0.1"}
    heading = side_by_side.seed_table([{**PYG, "spec": spec}]).splitlines()[:3]
    assert [line.rpartition("  ")[2].strip() for line in heading[:2]] == [
        "| today, sparse",
        "ogbn-arxiv:synthetic@0.1",
    ]
    assert heading[2].startswith("Event")
    assert side_by_side.seed_table([PYG]).splitlines()[1].startswith("Event")
