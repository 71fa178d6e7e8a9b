import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.suite.graphs.catalog import DatasetName
from gnnbench.suite.graphs.load import load


def test_what_needs_no_cache_makes_none_and_what_does_not_fit_is_refused_in_a_line(tmp_path):
    path, cache = tmp_path / "pair.mtx", tmp_path / "cache"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n")
    assert load(DatasetName.parse(str(path)), None, cache).num_edges == 2
    load(DatasetName.parse("cora:synthetic"), None, cache)
    with pytest.raises(UsageError, match=r"^rmat:30@1023: does not fit into memory \(.+\); use a smaller"):
        load(DatasetName.parse("rmat:30@1023"), None, cache)
    assert not cache.exists()


@pytest.mark.parametrize("text", ["cora", "ogbn-arxiv", "aifb"])
def test_a_set_that_is_not_in_the_data_folder_is_a_line(text, tmp_path):
    with pytest.raises(UsageError, match=f"^{text} is not in the data folder; use {text}:synthetic$"):
        load(DatasetName.parse(text), tmp_path, tmp_path)
