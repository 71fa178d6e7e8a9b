from dataclasses import asdict
from pathlib import Path

from gnnbench.engine.profile.findings import Finding
from gnnbench.engine.show import profile
from gnnbench.engine.show.console import Terminal
from gnnbench.suite.spec import Spec
from tests.engine.profile.subjects import widest


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
    page = Terminal(80).write([*profile.document(*one)])
    assert page.startswith("\nepoch[pyg]\n\nlayers: ")
    assert "counts" not in page
    first, second, *rest = page.partition("\nfindings\n")[2].splitlines()
    assert first.startswith("- A A ")
    assert second.startswith("  A A ")
    assert rest[:2] == ["  scatter: 50%", "  → sort the edges"]
    assert page.split()[-5:] == ["saved", "in", "pyg:", "profile.json,", "functions.pstats"]
    assert widest(page.partition("saved in")[0]) <= 80
