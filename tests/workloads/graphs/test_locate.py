import shutil
import tarfile
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.suite.graphs import locate
from gnnbench.suite.graphs.catalog import DATASETS, DatasetName

PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


@pytest.fixture(autouse=True)
def _nothing_was_asked():
    locate.is_reachable.cache_clear()
    yield
    locate.is_reachable.cache_clear()


@pytest.fixture
def proxy(monkeypatch):
    """A proxy that answers every plain request."""

    class Yes(BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Yes)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("no_proxy", "")
    yield
    server.shutdown()
    server.server_close()


def resolved(*texts, root=None, cache, real_only=False):
    names, notices = locate.resolve(map(DatasetName.parse, texts), root, cache, real_only=real_only)
    return [name.id for name in names], notices


@pytest.fixture
def raw(tmp_path):
    raw = tmp_path / "Planetoid/Cora/raw"
    raw.mkdir(parents=True)
    for part in PARTS:
        (raw / f"ind.cora.{part}").touch()
    return raw


@pytest.fixture
def archives(raw, tmp_path):
    """What is published of three data sets, with empty files."""
    for file in ("arxiv/raw/edge.csv.gz", "arxiv/split/train.csv.gz", *locate.ENTITIES_FILES):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    shutil.make_archive(str(tmp_path / "arxiv"), "zip", tmp_path, "arxiv")
    with tarfile.open(tmp_path / "aifb.tgz", "w:gz") as packed:
        for name in locate.ENTITIES_FILES:
            packed.add(tmp_path / name, name)
    return {"cora": raw / "ind.cora.x", "ogbn-arxiv": tmp_path / "arxiv.zip", "aifb": tmp_path / "aifb.tgz"}


def test_cora_is_here_with_all_its_files(raw, tmp_path):
    assert locate.raw_folder(DATASETS["cora"], tmp_path) == raw
    (raw / "ind.cora.ty").unlink()
    assert not locate.place(DATASETS["cora"], tmp_path, tmp_path / "cache")


def test_arxiv_need_not_be_in_a_folder_of_ogb(tmp_path):
    (tmp_path / "ogbn_arxiv/raw").mkdir(parents=True)
    (tmp_path / "ogbn_arxiv/split").mkdir()
    (tmp_path / "ogbn_arxiv/raw/edge.csv.gz").touch()
    assert locate.place(DATASETS["ogbn-arxiv"], tmp_path, tmp_path / "cache") == "data root"


@pytest.mark.parametrize("name", ["cora", "ogbn-arxiv", "aifb"])
def test_a_download_is_whole_or_not_there(name, tmp_path, archives):
    """The second time, there is nothing to download any more."""
    dataset = replace(DATASETS[name], url=archives[name].as_uri())
    whole = archives[name].read_bytes()
    if name != "cora":
        archives[name].write_bytes(whole[:100])
        with pytest.raises(UsageError, match=f"{name}: the download failed"):
            locate.fetch(dataset, None, tmp_path / "cache")
        assert not locate.place(dataset, None, tmp_path / "cache")
        archives[name].write_bytes(whole)
    folder = locate.fetch(dataset, None, tmp_path / "cache")
    assert folder == tmp_path / "cache/data" / dataset.folder
    assert locate.place(dataset, None, tmp_path / "cache") == "cache"
    archives[name].unlink()
    assert locate.fetch(dataset, None, tmp_path / "cache") == folder


@pytest.mark.usefixtures("offline", "raw")
def test_offline_a_real_set_becomes_its_twin_or_is_an_error(tmp_path):
    asked = ("cora", "ogbn-arxiv", "ogbn-arxiv:synthetic", "rmat:5")
    names, (notice,) = resolved(*asked, root=tmp_path, cache=tmp_path / "cache")
    assert names == ["cora", "ogbn-arxiv:synthetic", "rmat:5"]
    assert "using its synthetic stand-in ogbn-arxiv:synthetic (--gnn-real" in notice
    with pytest.raises(UsageError, match="pubmed is not in the data folder and cannot be downloaded"):
        resolved("pubmed", cache=tmp_path, real_only=True)


@pytest.mark.usefixtures("proxy")
def test_reachable_through_a_proxy_it_stays_real(tmp_path):
    names, notices = resolved("ogbn-arxiv", cache=tmp_path, real_only=True)
    assert names == ["ogbn-arxiv"]
    assert notices == [f"ogbn-arxiv will be downloaded (79.2 MiB) to {tmp_path}"]


def test_two_files_of_one_name_are_refused(tmp_path):
    paths = [tmp_path / folder / "g.mtx" for folder in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.touch()
    with pytest.raises(UsageError, match="have the same name"):
        resolved(*map(str, paths), cache=tmp_path)
