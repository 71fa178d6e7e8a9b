from dataclasses import asdict
from pathlib import Path

from gnnbench.engine.profile.findings import Finding
from gnnbench.engine.show import profile
from gnnbench.engine.show.console import Terminal
from tests.engine.profile.subjects import widest

RANGE = {"path": ["call"], "calls": [1], "total_ns": [10**6], "self_ns": [0], "cold_ns": 2 * 10**6}
FUNCTION = {"function": "scatter", "place": "", "calls": 3, "self_ns": 5 * 10**5, "cumulative_ns": 10**6}
FUNCTIONS = {"rows": [FUNCTION], "total_ns": 10**6, "cold_ns": 10**6, "repeats": 1}
FINDING = asdict(Finding("x", "A " * 60, "scatter: 50%", "sort the edges"))


def test_a_benchmark_has_a_table_of_each_kind_its_findings_and_its_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pyg").mkdir()
    for name in ("profile.json", "functions.pstats"):
        Path("pyg", name).touch()
    layers = {"rows": [RANGE, {**RANGE, "path": ["call", "forward"]}]}
    counts = {"operators": []}  # which only findings and other tables read
    sections = {"layers": layers, "functions": FUNCTIONS, "counts": counts}
    record = {"id": "epoch[pyg]", "findings": [FINDING], "sections": sections}
    page = Terminal(80).write([*profile.document(Path("pyg"), record)])
    assert page.startswith("\nepoch[pyg]\n\nlayers: ")
    assert "counts" not in page
    first, second, *rest = page.partition("\nfindings\n")[2].splitlines()
    assert first.startswith("- A A ")
    assert second.startswith("  A A ")
    assert rest[:2] == ["  scatter: 50%", "  → sort the edges"]
    assert page.split()[-5:] == ["saved", "in", "pyg:", "profile.json,", "functions.pstats"]
    assert widest(page.partition("saved in")[0]) <= 80
