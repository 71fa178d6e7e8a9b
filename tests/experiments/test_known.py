"""The table of experiments/known, and how its suite hides a package; nothing is timed."""

import json
import runpy
import sys

import pytest

from experiments.known import known
from tests.suite import ROOT


def test_the_table_has_a_row_for_each_expected_verdict(tmp_path):
    def save(name, **found):
        (tmp_path / f"{name}-torch_scatter.json").write_text(json.dumps({"benchmarks": [found]}))

    timed = {"verdict": "faster", "ratio": 0.05, "low": 0.04, "high": 0.06, "head_ns": 6.1e5, "pairs": 6}
    save("with", id="suites/pyg/test_utils.py::test_mask_select", **timed)
    not_timed = {"verdict": "incomparable", "ratio": None, "head_ns": None, "pairs": 0}
    save("without", id="a.py::test_softmax_by_ptr", **not_timed)
    rows = known.rows(tmp_path)
    assert [(one["expected"], one.get("verdict")) for one in rows] == [
        ("same", None),
        ("faster", "faster"),
        ("slower", "incomparable"),
    ]
    assert known.table(rows).splitlines()[3:] == [
        "| with-torch_scatter | mask_select | faster | faster | 0.05x | 0.040-0.060 | 610 µs | 6 |",
        "| without-torch_scatter | softmax_by_ptr | slower | incomparable |  |  |  | 0 |",
    ]
    (tmp_path / "without-torch_scatter.json").unlink()
    row = "| without-torch_scatter | softmax_by_ptr | slower |  |  |  |  |  |"
    assert known.table(known.rows(tmp_path)).endswith(row)


def test_a_hidden_package_cannot_be_imported(monkeypatch):
    monkeypatch.setenv("HIDDEN", "colorsys")
    monkeypatch.setitem(sys.modules, "colorsys", sys)
    runpy.run_path(str(ROOT / "experiments" / "known" / "suites" / "pyg" / "conftest.py"))
    with pytest.raises(ImportError):
        import colorsys  # noqa: F401
