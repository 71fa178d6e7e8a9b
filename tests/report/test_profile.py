from dataclasses import asdict
from pathlib import Path

from gnnbench.engine.profile.findings import Finding
from gnnbench.engine.show import profile
from gnnbench.engine.show.console import Terminal
from gnnbench.suite.spec import Spec
from tests.profile.subjects import widest


def row(*path, times=(1,), calls=1):
    inner = {"total_ns": [round(1e6 * time) for time in times], "self_ns": [0] * len(times)}
    return {"path": ["call", *path], "calls": [calls] * len(times), "cold_ns": 2_000_000, **inner}


def tree(*rows):
    return {"rows": list(rows)}


LAYERS = tree(row(), row("forward"))
FUNCTION = {"function": "scatter", "place": "", "calls": 3, "self_ns": 5 * 10**5, "cumulative_ns": 10**6}
FUNCTIONS = {"rows": [FUNCTION], "total_ns": 10**6, "cold_ns": 10**6, "repeats": 1}
FINDING = asdict(Finding("x", "A " * 60, "scatter: 50%", "sort the edges"))


def profiled(folder, platform, *findings, **sections):
    spec = asdict(Spec("epoch", "train", platform, "float32", "int64", "cora", 16, "cpu"))
    (folder / platform).mkdir()
    for name in ("profile.json", "functions.pstats"):
        (folder / platform / name).touch()
    record = {"id": f"epoch[{platform}]", "spec": spec, "findings": findings, "sections": sections}
    return folder / platform, record


def test_a_benchmark_has_a_table_of_each_kind_its_findings_and_its_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    counts = {"operators": []}  # which only findings and other tables read
    one = profiled(Path(), "pyg", FINDING, layers=LAYERS, functions=FUNCTIONS, counts=counts)
    (page,) = map(Terminal(80).write, profile.documents([one]))
    assert page.startswith("\nepoch[pyg]\n\nlayers: ")
    assert "counts" not in page
    first, second, *rest = page.partition("\nfindings\n")[2].splitlines()
    assert first.startswith("- A A ")
    assert second.startswith("  A A ")
    assert rest[:2] == ["  scatter: 50%", "  → sort the edges"]
    assert page.split()[-5:] == ["saved", "in", "pyg:", "profile.json,", "functions.pstats"]
    assert widest(page.partition("saved in")[0]) <= 80


def test_kinds_of_several_platforms_stand_side_by_side_once(tmp_path):
    two = [profiled(tmp_path, platform, layers=LAYERS, functions=FUNCTIONS) for platform in ("pyg", "dgl")]
    beside, *pages = map(Terminal(80).write, profile.documents(two))
    assert beside.splitlines()[2].split() == ["Event", "pyg", "dgl"]
    assert " ".join(beside.split()).endswith("First calls, not included: pyg 2.00 ms, dgl 2.00 ms.")
    for page, platform in zip(pages, ("pyg", "dgl"), strict=True):
        assert page.startswith(f"\nepoch[{platform}]\n\nfunctions: ")
        assert "layers: " not in page
        assert "\nfindings: none\n" in page


PYG = tree(
    row(times=[10, 12, 10]),
    row("forward", times=[6, 6, 60]),
    row("forward", "GCNConv", times=[5, 5, 5]),
    row("forward", "GCNConv", "gcn_norm", times=[2, 2, 2], calls=3),
    row("forward", "GCNConv", "gcn_norm", "mul", times=[1, 1, 1]),
    row("forward", "GCNConv", "x·W", times=[1, 1, 1]),
    row("forward", "GCNConv", "mul", times=[0.5, 0.5, 0.5]),
    row("forward", "cached", times=[0, 0, 0], calls=0),
    row("backward", times=[4, 4, 4]),
)
DGL = tree(
    row(times=[5, 5, 5]),
    row("forward", times=[3, 3, 3]),
    row("forward", "GraphConv", times=[2.5, 2.5, 2.5], calls=3),
    row("forward", "GraphConv", "degrees", times=[1, 1, 1], calls=9),
    row("forward", "GraphConv", "x·W", times=[1, 1, 1]),
    row("backward", times=[2, 2, 2]),
)


def test_platforms_are_lined_up_by_name_with_medians_and_ratios_to_the_first():
    """What happened in the first call only has no row."""
    lines = Terminal(80).write(profile.side_by_side("layers", [("pyg", PYG), ("dgl", DGL)])).splitlines()
    assert [line.split() for line in lines[2:12]] == [
        ["Event", "pyg", "dgl"],
        ["forward", "6.00", "ms", "3.00", "ms", "0.50x"],
        ["layer", "5.00", "ms", "2.50", "ms", "0.50x"],
        ["gcn_norm", "2.00", "ms"],
        ["mul", "1.50", "ms"],
        ["x·W", "1.00", "ms", "1.00", "ms", "1.00x"],
        ["degrees", "1.00", "ms"],
        ["backward", "4.00", "ms", "2.00", "ms", "0.50x"],
        ["the", "rest", "0.00", "ns", "0.00", "ns"],
        ["the", "whole", "10.0", "ms", "5.00", "ms", "0.50x"],
    ]
    assert "layer: GCNConv (pyg), GraphConv (dgl)." in lines
