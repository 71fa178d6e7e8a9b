import csv
import io

import pytest

from gnnbench.compare import along
from gnnbench.compare.axis import Axis
from gnnbench.compare.verdict import Thresholds
from gnnbench.report import csv_text
from gnnbench.results import run_file
from tests.report import contents
from tests.run_files import save

THRESHOLDS = Thresholds(effect=0.03)


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def files(folder, *whole):
    return [run_file.read(path) for path in save(folder, *whole)]


def test_along_an_axis_both_values_are_columns(tmp_path):
    found = along.compare(files(tmp_path, contents.family(1)), Axis("platform"), THRESHOLDS)
    rows = read(csv_text.of_along(found))
    assert len(rows) == len(found.rows)
    assert (rows[2]["platform"], rows[2]["base_platform"], rows[2]["operation"]) == ("dgl", "pyg", "op0")
    assert float(rows[2]["head_ns"]) / float(rows[2]["base_ns"]) == pytest.approx(float(rows[2]["ratio"]))
