import csv
import io

import pytest

from gnnbench.compare import along, runs
from gnnbench.compare.axis import Axis
from gnnbench.compare.verdict import Thresholds
from gnnbench.report import csv_text
from gnnbench.results import run_file
from tests.report import contents
from tests.run_files import save, suite

THRESHOLDS = Thresholds(effect=0.03)


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def files(folder, *whole):
    return [run_file.read(path) for path in save(folder, *whole)]


def test_a_comparison_has_one_row_for_each_benchmark(tmp_path):
    base = files(tmp_path, *(contents.family(seed) for seed in range(5)))
    head = files(tmp_path, *(contents.family(seed, factor=1.3) for seed in range(10, 13)))
    found = runs.compare(base, head, THRESHOLDS)
    rows = read(csv_text.of_comparison(found))
    assert [row["benchmark"] for row in rows] == [row.fullname for row in found.rows]
    assert (rows[0]["operation"], rows[0]["platform"], rows[0]["hidden"]) == ("op0", "pyg", "256")
    assert float(rows[0]["ratio"]) == found.rows[0].judgement.ratio
    assert float(rows[0]["head_ns"]) == pytest.approx(found.rows[0].seconds * 1e9)
    assert rows[0]["verdict"] == "slower"
    assert rows[0]["notes"] == "; ".join(found.rows[0].notes)


def test_without_specs_there_are_no_columns_of_specs(tmp_path):
    base, head = (files(tmp_path, *(suite(seed) for seed in seeds)) for seeds in ((1, 2), (3,)))
    rows = read(csv_text.of_comparison(runs.compare(base, head, THRESHOLDS)))
    assert "operation" not in rows[0]
    assert float(rows[0]["own_low"]) < float(rows[0]["own_high"])


def test_along_an_axis_both_values_are_columns(tmp_path):
    found = along.compare(files(tmp_path, contents.family(1)), Axis("platform"), THRESHOLDS)
    rows = read(csv_text.of_along(found))
    assert len(rows) == len(found.rows)
    assert (rows[2]["platform"], rows[2]["base_platform"], rows[2]["operation"]) == ("dgl", "pyg", "op0")
    assert float(rows[2]["head_ns"]) / float(rows[2]["base_ns"]) == pytest.approx(float(rows[2]["ratio"]))


def test_a_missing_value_is_an_empty_cell():
    assert csv_text.text([{"a": 1}, {"a": None, "b": 2.5}]) == "a,b\n1,\n,2.5\n"
