import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gnnbench import files
from gnnbench.errors import UsageError
from gnnbench.workloads.graphs import locate
from gnnbench.workloads.graphs.catalog import DATASETS, DatasetName

PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that is not there: the way out that every client here is told to take."""
    for scheme in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(scheme, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    locate._answers.cache_clear()


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch):
    """A proxy that answers every plain request."""

    class Yes(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Yes)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("no_proxy", "")
    locate._answers.cache_clear()
    yield
    server.shutdown()
    server.server_close()
    locate._answers.cache_clear()


def _put_cora(root: Path) -> Path:
    raw = root / "Planetoid/Cora/raw"
    raw.mkdir(parents=True)
    for part in PARTS:
        (raw / f"ind.cora.{part}").touch()
    return raw


def _put_arxiv(folder: Path) -> None:
    (folder / "raw").mkdir(parents=True)
    (folder / "split").mkdir()
    (folder / "raw/edge.csv.gz").touch()


def test_cora_is_here_with_all_its_files(tmp_path: Path) -> None:
    raw = _put_cora(tmp_path)
    assert locate.under_data_root(DATASETS["cora"], tmp_path) == raw
    (raw / "ind.cora.ty").unlink()
    assert not locate.is_here(DATASETS["cora"], tmp_path, tmp_path / "cache")


@pytest.mark.parametrize("where", ["ogbn_arxiv", "ogb/ogbn_arxiv"])
def test_arxiv_is_here_in_both_layouts(tmp_path: Path, where: str) -> None:
    _put_arxiv(tmp_path / where)
    assert locate.place(DATASETS["ogbn-arxiv"], tmp_path, tmp_path / "cache") == "data root"


def test_a_finished_download_is_in_the_cache(tmp_path: Path) -> None:
    assert not locate.is_here(DATASETS["pubmed"], None, tmp_path)
    (tmp_path / "pubmed/download").mkdir(parents=True)
    assert not locate.is_here(DATASETS["pubmed"], None, tmp_path)
    (tmp_path / "pubmed" / locate.DOWNLOADED).touch()
    assert locate.place(DATASETS["pubmed"], None, tmp_path) == "cache"


def test_offline_a_real_set_becomes_its_twin(tmp_path: Path) -> None:
    _put_cora(tmp_path)
    asked = [DatasetName.parse(text) for text in ("cora", "ogbn-arxiv", "ogbn-arxiv:synthetic", "rmat:5")]
    names, notices = locate.resolve(asked, tmp_path, tmp_path / "cache", real_only=False)
    assert [name.id for name in names] == ["cora", "ogbn-arxiv:synthetic", "rmat:5"]
    (notice,) = notices
    assert notice == (
        "ogbn-arxiv is not in the data folder and cannot be downloaded: using its synthetic stand-in "
        "ogbn-arxiv:synthetic (--gnn-real to fail instead)"
    )


@pytest.mark.usefixtures("offline")
def test_offline_real_only_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="pubmed is not in the data folder and cannot be downloaded"):
        locate.resolve([DatasetName.parse("pubmed")], None, tmp_path, real_only=True)


@pytest.mark.usefixtures("proxy")
def test_reachable_through_a_proxy_it_stays_real(tmp_path: Path) -> None:
    names, notices = locate.resolve([DatasetName.parse("ogbn-arxiv")], None, tmp_path, real_only=True)
    assert [name.id for name in names] == ["ogbn-arxiv"]
    assert notices == [f"ogbn-arxiv will be downloaded (79.2 MiB) to {tmp_path}"]


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "g.mtx").touch()
    names = [DatasetName.parse(str(tmp_path / folder / "g.mtx")) for folder in ("a", "b")]
    with pytest.raises(UsageError, match="have the same name"):
        locate.resolve(names, None, tmp_path, real_only=False)


def test_the_cache_is_where_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(files.CACHE_VARIABLE, "~/here")
    assert files.cache_folder() == Path.home() / "here"
    monkeypatch.delenv(files.CACHE_VARIABLE)
    assert "gnnbench" in files.cache_folder().parts
