import socket
import sys

import pytest

from gnnbench.errors import UsageError
from gnnbench.workloads.graphs.catalog import DATASETS, DatasetName
from gnnbench.workloads.graphs.load import load
from gnnbench.workloads.graphs.workspace import workspace


@pytest.mark.parametrize(
    "text",
    [
        *("cora:synthetic", "aifb:synthetic", "ogbn-arxiv:synthetic@0.01", "ogbg-molhiv:synthetic@0.001"),
        *("rmat:6", "hub:6", "molecules:4"),
    ],
)
def test_each_kind_of_name_loads_under_its_own_id(text, tmp_path):
    graph = load(DatasetName.parse(text), None, tmp_path / "cache")
    assert (graph.name, graph.synthetic) == (text, True)
    assert not (tmp_path / "cache").exists()


def test_a_file_loads_and_what_does_not_fit_is_refused_before_anything_is_made(tmp_path):
    path = tmp_path / "pair.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n")
    assert load(DatasetName.parse(str(path)), None, tmp_path / "cache").num_edges == 2
    with pytest.raises(UsageError, match="rmat:30 needs about"):
        load(DatasetName.parse("rmat:30"), None, tmp_path)


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("text", ["cora", "ogbn-arxiv", "aifb"])
def test_a_failed_download_says_what_to_do(text, tmp_path, capfd):
    failed = rf"^{text}: the download failed \(.*; use {text}:synthetic"
    with pytest.raises(UsageError, match=failed) as caught:
        load(DatasetName.parse(text), None, tmp_path)
    # torch_geometric's way of downloading needs to be told of proxies.
    assert text != "cora" or "127.0.0.1:9" in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_library_s_prints_and_questions_stay_inside(tmp_path, capsys):
    with workspace(DATASETS["cora"], None, tmp_path, "y"):
        sys.stdout.write("noise")
        sys.stderr.write("noise")
        assert input("download? ") == "y"
        assert socket.getdefaulttimeout() is not None
    assert capsys.readouterr() == ("", "")
    assert socket.getdefaulttimeout() is None
