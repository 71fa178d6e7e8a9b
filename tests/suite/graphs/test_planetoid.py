import pickle
from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse
import torch

from gnnbench.engine.ground.errors import UsageError
from gnnbench.suite.graphs.catalog import DATASETS, DatasetName
from gnnbench.suite.graphs.load import load
from gnnbench.suite.graphs.published import raw_folder

NODES, TEST, FEATURES = 610, 10, 8
PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


def read(root):
    return load(DatasetName.parse("cora"), root, root / "cache")


@pytest.fixture
def ring(tmp_path):
    """The folder of a ring of nodes in the files of Cora."""
    raw = tmp_path / "Planetoid/Cora/raw"
    raw.mkdir(parents=True)
    x = scipy.sparse.csr_matrix(np.eye(NODES, FEATURES, dtype=np.float32) + np.eye(1, FEATURES, dtype="f"))
    y = np.eye(7, dtype=np.int32)[np.arange(NODES) % 7]
    train, rest = slice(0, 20), slice(0, NODES - TEST)
    test = slice(NODES - TEST, NODES)
    graph = defaultdict(list, {node: [(node + 1) % NODES] for node in range(NODES)})
    parts = (x[train], x[test], x[rest], y[train], y[test], y[rest], graph)
    for name, part in zip(PARTS, parts, strict=False):
        (raw / f"ind.cora.{name}").write_bytes(pickle.dumps(part))
    (raw / "ind.cora.test.index").write_text("".join(f"{node}\n" for node in range(NODES - TEST, NODES)))
    return raw


@pytest.mark.usefixtures("ring")
def test_a_set_that_was_pickled_lately_is_read(tmp_path):
    graph = read(tmp_path)
    assert (graph.num_nodes, graph.num_edges, graph.num_features) == (NODES, 2 * NODES, FEATURES)
    assert graph.y.tolist() == [node % 7 for node in range(NODES)]
    assert graph.x[:3].tolist() == [[1.0] + [0.0] * 7, [0.5, 0.5] + [0.0] * 6, [0.5, 0.0, 0.5] + [0.0] * 5]


def test_cora_has_its_published_counts(data_root, tmp_path, capfd, monkeypatch, listing):
    if raw_folder(DATASETS["cora"], data_root) is None:
        pytest.skip(f"no Planetoid/Cora under {data_root}")
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # under which torch_geometric keeps quiet of itself
    before = listing(data_root / "Planetoid")
    graph = load(DatasetName.parse("cora"), data_root, tmp_path / "cache")
    assert (graph.name, graph.synthetic) == ("cora", False)
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (2708, 10556, 1433, 7)
    assert [int(m.sum()) for m in (graph.train_mask, graph.val_mask, graph.test_mask)] == [140, 500, 1000]
    assert graph.content_hash == "1ae16fb75ffb3652"
    torch.testing.assert_close(graph.x.sum(1), torch.ones(2708))
    assert listing(data_root / "Planetoid") == before
    assert not (tmp_path / "cache").exists()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("content", [b"", b"no pickle", pickle.dumps([1])])
def test_a_damaged_file_is_one_line(ring, tmp_path, content):
    (ring / "ind.cora.allx").write_bytes(content)
    with pytest.raises(UsageError, match=r"cora: the files in .*raw cannot be read \(.*\); replace them"):
        read(tmp_path)
