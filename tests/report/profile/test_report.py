from gnnbench.report.profile import report
from tests.profile.subjects import widest


def row(*path):
    return {"path": ["call", *path], "calls": [1], "cold_ns": 2_000_000, "total_ns": [10**6], "self_ns": [0]}


LAYERS = {"rows": [row(), row("forward")], "plain_ns": [10**6], "missing": []}
FUNCTION = {"function": "scatter", "place": "", "calls": 3, "self_ns": 5 * 10**5, "cumulative_ns": 10**6}
FUNCTIONS = {"rows": [FUNCTION], "left_out": 0, "total_ns": 10**6, "cold_ns": 10**6, "repeats": 1}
FINDING = {"text": "A " * 60, "evidence": "scatter: 50%", "remedy": "sort the edges"}


def profile(folder, platform, *findings, **sections):
    """Return a profile of the platform."""
    spec = {"platform": platform, "dataset": "cora", "operation": "epoch"}
    record = {"id": f"epoch[{platform}]", "spec": spec, "sections": sections, "findings": findings}
    (folder / platform).mkdir()
    for name in ("profile.json", "functions.pstats"):
        (folder / platform / name).touch()
    return report.Profile(folder / platform, record)


def test_a_benchmark_has_a_table_of_each_kind_its_findings_and_its_files(tmp_path):
    counts = {"operators": []}  # which only findings and other tables read
    one = profile(tmp_path, "pyg", FINDING, layers=LAYERS, functions=FUNCTIONS, counts=counts)
    (page,) = report.pages([one], sort="self")
    assert page.startswith("epoch[pyg]\n\nlayers: ")
    assert ", by self. " in page
    assert "counts" not in page
    first, second, *rest = page.partition("\nfindings\n")[2].splitlines()
    assert first.startswith("- A A ")
    assert second.startswith("  A A ")
    assert rest[:2] == ["  scatter: 50%", "  → sort the edges"]
    assert page.endswith(f"saved in {tmp_path / 'pyg'}\n  profile.json, functions.pstats")
    assert widest(page.partition("saved in")[0]) <= 80


def test_kinds_of_several_platforms_stand_side_by_side_once(tmp_path):
    two = [profile(tmp_path, platform, layers=LAYERS, functions=FUNCTIONS) for platform in ("pyg", "dgl")]
    beside, *pages = report.pages(two, sort="cumulative")
    assert beside.splitlines()[0].split() == ["layers", "pyg", "dgl"]
    assert " ".join(beside.split()).endswith("First calls, not included: pyg 2.00 ms, dgl 2.00 ms.")
    for page, platform in zip(pages, ("pyg", "dgl"), strict=True):
        assert page.startswith(f"epoch[{platform}]\n\nfunctions: ")
        assert "layers: " not in page
        assert "\nfindings: none\n" in page
