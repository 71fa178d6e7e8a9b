import pickle
from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse
import torch

from gnnbench.errors import UsageError
from gnnbench.workloads.graphs.catalog import DatasetName
from gnnbench.workloads.graphs.load import load

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


@pytest.mark.parametrize("part", ["x", "graph"])
def test_no_file_can_run_code(ring, tmp_path, part):
    (ring / f"ind.cora.{part}").write_bytes(pickle.dumps(Hostile(tmp_path / "ran"), protocol=2))
    with pytest.raises(UsageError, match=r"cora: the files in .*raw cannot be read"):
        read(CORA, ring, tmp_path / "cache")
    assert not (tmp_path / "ran").exists()


def test_cora_has_its_published_counts(cora_root, tmp_path, capfd, monkeypatch, listing):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # under which torch_geometric keeps quiet of itself
    before = listing(cora_root / "Planetoid")
    graph = load(DatasetName.parse("cora"), cora_root, tmp_path / "cache")
    assert (graph.name, graph.synthetic) == ("cora", False)
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (2708, 10556, 1433, 7)
    assert [int(m.sum()) for m in (graph.train_mask, graph.val_mask, graph.test_mask)] == [140, 500, 1000]
    assert graph.content_hash == "1ae16fb75ffb3652"
    torch.testing.assert_close(graph.x.sum(1), torch.ones(2708))
    assert listing(cora_root / "Planetoid") == before
    assert not (tmp_path / "cache").exists()
    assert capfd.readouterr() == ("", "")


def test_an_old_matrix_is_read_unless_an_index_lies_outside():
    """As Python 2 and an old SciPy wrote it: protocol 2, and a module that is gone."""
    matrix = scipy.sparse.csr_matrix([[0, 2], [3, 0]])
    for index in (0, 10**6):
        matrix.indices[1] = index
        old = pickle.dumps(matrix, protocol=2).replace(b"scipy.sparse._csr", b"scipy.sparse.csr")
        found = array_pickle.load(io.BytesIO(old), encoding="latin1")
        if index:
            with pytest.raises(ValueError, match="must be < 2"):
                found.todense()
        else:
            assert found.todense().tolist() == [[0, 2], [3, 0]]
