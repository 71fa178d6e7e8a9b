import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.suite.graphs.catalog import DATASETS, DatasetName, resolve
from gnnbench.suite.graphs.published import raw_folder

PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


def resolved(*texts, root=None, real_only=False):
    names, notices = resolve(map(DatasetName.parse, texts), root, real_only=real_only)
    return [name.id for name in names], notices


@pytest.fixture
def raw(tmp_path):
    raw = tmp_path / "Planetoid/Cora/raw"
    raw.mkdir(parents=True)
    for part in PARTS:
        (raw / f"ind.cora.{part}").touch()
    return raw


def test_cora_is_here_with_all_its_files(raw, tmp_path):
    assert raw_folder(DATASETS["cora"], tmp_path) == raw
    (raw / "ind.cora.ty").unlink()
    assert not raw_folder(DATASETS["cora"], tmp_path)


def test_arxiv_need_not_be_in_a_folder_of_ogb(tmp_path):
    (tmp_path / "ogbn_arxiv/raw").mkdir(parents=True)
    (tmp_path / "ogbn_arxiv/split").mkdir()
    (tmp_path / "ogbn_arxiv/raw/edge.csv.gz").touch()
    assert raw_folder(DATASETS["ogbn-arxiv"], tmp_path) == tmp_path / "ogbn_arxiv"


@pytest.mark.usefixtures("raw")
def test_a_set_that_is_not_in_the_data_folder_becomes_its_stand_in_or_is_an_error(tmp_path):
    asked = ("cora", "ogbn-arxiv", "ogbn-arxiv:synthetic", "rmat:5")
    names, (notice,) = resolved(*asked, root=tmp_path)
    assert names == ["cora", "ogbn-arxiv:synthetic", "rmat:5"]
    assert "using its synthetic stand-in ogbn-arxiv:synthetic (--gnn-real" in notice
    with pytest.raises(UsageError, match="pubmed is not in the data folder; put its files there"):
        resolved("pubmed", real_only=True)


def test_two_files_of_one_name_are_refused(tmp_path):
    paths = [tmp_path / folder / "g.mtx" for folder in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.touch()
    with pytest.raises(UsageError, match="have the same name"):
        resolved(*map(str, paths))
