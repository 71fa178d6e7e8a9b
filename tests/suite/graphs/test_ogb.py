"""ogb's readers on small data sets in the layouts that OGB publishes, written here."""

import gzip
import sys

import numpy as np
import pandas as pd
import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.suite.graphs.catalog import DATASETS, DatasetName
from gnnbench.suite.graphs.load import load
from gnnbench.suite.graphs.published import raw_folder

NODES = 30
EDGES = np.stack((np.arange(NODES - 1), np.arange(1, NODES)), axis=1)
FEATURES = np.arange(NODES * 4, dtype=np.float32).reshape(NODES, 4) / 8


def read(name, root):
    return load(DatasetName.parse(name), root, root / "cache")


def table(path, values):
    """Write a table without a header, compressed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(values).to_csv(f"{path}.csv.gz", index=False, header=False, compression="gzip")


def arxiv(root):
    folder = root / "ogb/ogbn_arxiv"
    for part, ids in zip(("train", "valid", "test"), np.split(np.arange(NODES), [20, 25]), strict=True):
        table(folder / "split/time" / part, ids)
    tables = {"edge": EDGES, "num-node-list": [NODES], "num-edge-list": [NODES - 1], "node-feat": FEATURES}
    for name, values in {**tables, "node-label": np.arange(NODES)}.items():
        table(folder / "raw" / name, values)
    return folder


def test_reads_a_csv_data_set_and_leaves_the_data_root_alone(tmp_path, capfd, listing):
    before = listing(arxiv(tmp_path))
    assert raw_folder(DATASETS["ogbn-arxiv"], tmp_path) == tmp_path / "ogb/ogbn_arxiv"
    first, again = (read("ogbn-arxiv", tmp_path) for _ in range(2))
    assert (first.num_nodes, first.num_edges, first.num_classes) == (NODES, 2 * (NODES - 1), 40)
    np.testing.assert_array_equal(first.x.numpy(), FEATURES)
    assert first.y.tolist() == list(range(NODES))
    assert first.train_mask.sum() == 20
    assert first.content_hash == again.content_hash
    assert listing(tmp_path / "ogb/ogbn_arxiv") == before
    assert capfd.readouterr() == ("", "")
    assert sys.modules["ogb.version"].check_outdated is None, "it asks no package index"
    assert "outdated" not in sys.modules


def test_tables_are_read_once_and_changed_files_anew(tmp_path, monkeypatch):
    from ogb.io import read_graph_raw

    folder = arxiv(tmp_path)
    first = read("ogbn-arxiv", tmp_path)
    with monkeypatch.context() as patch:
        patch.delattr(read_graph_raw, "read_csv_graph_raw")
        again = read("ogbn-arxiv", tmp_path)
    assert again.content_hash == first.content_hash
    table(folder / "raw/node-label", np.full(NODES, 39))
    assert set(read("ogbn-arxiv", tmp_path).y.tolist()) == {39}


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("raw/edge.csv.gz", b"not gzip", "gzip"),
        ("raw/node-label.csv.gz", gzip.compress(b"one\n"), "'one'"),
        ("raw/old/node-label.csv.gz", b"", r"raw has 2 files named node-label\.csv\.gz"),
        ("split/time/train.csv.gz", gzip.compress(b"30\n"), "out of bounds"),
    ],
    ids=["not gzip", "no number", "two tables", "an unknown node"],
)
def test_a_broken_file_is_one_line(tmp_path, file, content, message):
    path = arxiv(tmp_path) / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    expected = rf"ogbn-arxiv: the files in .*ogbn_arxiv cannot be read \(.*{message}.*\); replace them"
    with pytest.raises(UsageError, match=expected):
        read("ogbn-arxiv", tmp_path)
