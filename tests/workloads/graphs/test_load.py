from pathlib import Path

import pytest

from gnnbench.errors import UsageError
from gnnbench.workloads.graphs.catalog import DatasetName
from gnnbench.workloads.graphs.load import load


@pytest.mark.parametrize(
    "text",
    [
        *("cora:synthetic", "aifb:synthetic", "ogbn-arxiv:synthetic@0.01", "ogbg-molhiv:synthetic@0.001"),
        *("rmat:6", "hub:6", "molecules:4"),
    ],
)
def test_each_kind_of_name_loads_under_its_own_id(text: str, tmp_path: Path) -> None:
    graph = load(DatasetName.parse(text), None, tmp_path / "cache")
    assert (graph.name, graph.synthetic) == (text, True)
    assert not (tmp_path / "cache").exists()


def test_a_file_loads(tmp_path: Path) -> None:
    path = tmp_path / "pair.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n")
    assert load(DatasetName.parse(str(path)), None, tmp_path / "cache").num_edges == 2


def test_what_does_not_fit_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rmat:30 needs about"):
        load(DatasetName.parse("rmat:30"), None, tmp_path)


@pytest.mark.parametrize("text", ["cora", "ogbn-arxiv", "aifb"])
def test_a_failed_download_says_what_to_do(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for scheme in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(scheme, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(UsageError) as caught:
        load(DatasetName.parse(text), None, tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{text}: the download failed (")
    assert f"use {text}:synthetic, or put the files into the data folder" in message
    assert "\n" not in message
    if text == "cora":  # torch_geometric's way of downloading needs to be told of proxies
        assert "127.0.0.1:9" in message
    assert capfd.readouterr() == ("", "")
