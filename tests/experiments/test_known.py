"""The table of experiments/known, and how its suite hides a package; nothing is timed."""

import importlib.util
import json
import runpy
import sys

import pytest

from tests.suite import ROOT

FOLDER = ROOT / "experiments" / "known"


@pytest.fixture
def known():
    spec = importlib.util.spec_from_file_location("known", FOLDER / "known.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_has_a_row_for_each_expected_verdict(known, tmp_path):
    one = {"id": "suites/pyg/test_utils.py::test_mask_select", "verdict": "faster", "ratio": 0.05}
    found = {"benchmarks": [one | {"low": 0.04, "high": 0.06, "head_ns": 6.1e5, "pairs": 6}]}
    (tmp_path / "with-torch_scatter.json").write_text(json.dumps(found))
    rows = known.rows(tmp_path)
    assert [(one["expected"], one.get("verdict")) for one in rows] == [
        ("same", None),
        ("faster", "faster"),
        ("slower", None),
    ]
    assert known.table(rows).splitlines()[3:] == [
        "| with-torch_scatter | mask_select | faster | faster | 0.05x | 0.04-0.06 | 610 µs | 6 |",
        "| without-torch_scatter | softmax_by_ptr | slower |  |  |  |  |  |",
    ]


def test_a_benchmark_that_was_not_measured_has_a_row(known, tmp_path):
    one = {"id": "a.py::test_softmax_by_ptr", "verdict": "incomparable", "ratio": None, "head_ns": None}
    (tmp_path / "without-torch_scatter.json").write_text(json.dumps({"benchmarks": [one | {"pairs": 0}]}))
    row = "| without-torch_scatter | softmax_by_ptr | slower | incomparable |  |  |  | 0 |"
    assert known.table(known.rows(tmp_path)).endswith(row)


def test_a_hidden_package_cannot_be_imported(monkeypatch):
    monkeypatch.setenv("HIDDEN", "colorsys")
    monkeypatch.setitem(sys.modules, "colorsys", sys)
    runpy.run_path(str(FOLDER / "suites" / "pyg" / "conftest.py"))
    with pytest.raises(ImportError):
        import colorsys  # noqa: F401
