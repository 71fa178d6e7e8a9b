import socket
import sys

import pytest

from gnnbench.errors import UsageError
from gnnbench.workloads.graphs.catalog import DATASETS, DatasetName
from gnnbench.workloads.graphs.load import load
from gnnbench.workloads.graphs.workspace import workspace


def test_what_needs_no_cache_makes_none_and_what_does_not_fit_is_refused_before_anything_is_made(tmp_path):
    path, cache = tmp_path / "pair.mtx", tmp_path / "cache"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n")
    assert load(DatasetName.parse(str(path)), None, cache).num_edges == 2
    load(DatasetName.parse("cora:synthetic"), None, cache)
    with pytest.raises(UsageError, match="rmat:30 needs about"):
        load(DatasetName.parse("rmat:30"), None, cache)
    assert not cache.exists()


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
