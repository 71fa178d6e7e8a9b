import io
import sys

import pytest
from rich.console import Console

from gnnbench.report import listing
from gnnbench.workloads.graphs.catalog import DATASETS
from gnnbench.workloads.graphs.locate import DOWNLOADED
from gnnbench.workloads.operations import OPERATIONS
from gnnbench.workloads.platforms import PLATFORMS


@pytest.fixture
def render(tmp_path):
    def render(data_root=None, cache=tmp_path / "cache"):
        file = io.StringIO()
        for table in listing.tables(data_root, cache):
            Console(file=file, width=200, highlight=False, markup=False).print(table)
        return file.getvalue()

    return render


def rows(text, name):
    return [line.split() for line in text.splitlines() if line.split()[:1] == [name]]


def test_shows_every_data_set_platform_and_operation(render):
    text = render()
    for name in (*DATASETS, *PLATFORMS, *OPERATIONS):
        assert rows(text, name), name
    for operation in OPERATIONS.values():
        for said in (*(call.text for call in operation.calls.values()), *operation.absent.values()):
            assert said in text


def test_says_where_a_data_set_is(render, tmp_path):
    raw = tmp_path / "data" / "Planetoid" / "CiteSeer" / "raw"
    raw.mkdir(parents=True)
    for part in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"):
        (raw / f"ind.citeseer.{part}").touch()
    downloaded = tmp_path / "cache" / "pubmed" / DOWNLOADED
    downloaded.parent.mkdir(parents=True)
    downloaded.touch()
    text = render(tmp_path / "data")
    assert rows(text, "citeseer")[0][1:] == ["3,327", "9,104", "3,703", "6", "yes", "planetoid"]
    assert rows(text, "pubmed")[0][-2:] == ["cache", "planetoid"]
    assert rows(text, "cora")[0][-2:] == ["no", "planetoid"]


def test_says_how_to_get_a_missing_platform(monkeypatch, render):
    assert rows(render(), "pyg")[0][-1] == "yes"
    monkeypatch.setitem(sys.modules, "dgl", None)
    assert "dgl is not installed: pip install 'gnnbench[dgl]'" in render()
