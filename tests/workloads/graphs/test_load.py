import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.suite.graphs.catalog import DatasetName
from gnnbench.suite.graphs.load import load


def test_what_needs_no_cache_makes_none_and_what_does_not_fit_is_refused_in_a_line(tmp_path):
    path, cache = tmp_path / "pair.mtx", tmp_path / "cache"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n")
    assert load(DatasetName.parse(str(path)), None, cache).num_edges == 2
    load(DatasetName.parse("cora:synthetic"), None, cache)
    with pytest.raises(UsageError, match=r"^rmat:30@1023 does not fit into memory \(.+\); use a smaller"):
        load(DatasetName.parse("rmat:30@1023"), None, cache)
    assert not cache.exists()


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("text", ["cora", "ogbn-arxiv", "aifb"])
def test_a_failed_download_says_what_to_do(text, tmp_path, capfd):
    failed = rf"^{text}: the download failed \(.*; use {text}:synthetic"
    with pytest.raises(UsageError, match=failed):
        load(DatasetName.parse(text), None, tmp_path)
    assert capfd.readouterr() == ("", "")


def test_a_cache_that_is_no_folder_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"the cache folder .*file cannot be written .*GNNBENCH_CACHE"):
        load(DatasetName.parse("cora"), None, tmp_path / "file")
