"""ogb's own loader on molecules in the layout that OGB publishes."""

import numpy as np
import pytest

from gnnbench.errors import UsageError
from gnnbench.workloads.graphs import ogb
from gnnbench.workloads.graphs.catalog import DATASETS, DatasetName
from gnnbench.workloads.graphs.load import load
from gnnbench.workloads.graphs.locate import place
from tests.workloads.graphs.ogb_files import table

MOLHIV = DATASETS["ogbg-molhiv"]
SIZES = [3, 1, 4, 2]
"""Atoms of chains; the second molecule has no bond."""
CHAINS = [np.stack((np.arange(size - 1), np.arange(1, size))) for size in SIZES]
FEATURES = [np.arange(size * 9).reshape(size, 9) for size in SIZES]
LABELS = [1, 0, 0, 1]
SPLIT = {"train": np.array([0, 3]), "valid": np.array([1]), "test": np.array([2])}


def molhiv(root, node=None):
    """Write the published layout, whose files have one direction of each bond; `node` replaces one end."""
    folder = root / "ogb/ogbg_molhiv"
    edges = np.concatenate(CHAINS, axis=1).T
    if node is not None:
        edges[0, 1] = node
    for name, values in {
        "edge": edges,
        "edge-feat": np.zeros((len(edges), 3), dtype=int),
        "node-feat": np.concatenate(FEATURES),
        "num-node-list": SIZES,
        "num-edge-list": np.array(SIZES) - 1,
        "graph-label": LABELS,
    }.items():
        table(folder / "raw" / name, values)
    for part, members in SPLIT.items():
        table(folder / "split/scaffold" / part, members)
    (folder / "RELEASE_v1.txt").touch()
    return folder


def check(graph):
    assert (graph.name, graph.synthetic, graph.sizes.tolist()) == ("ogbg-molhiv", False, SIZES)
    bonds = [(0, 1), (1, 2), (4, 5), (5, 6), (6, 7), (8, 9)]
    entries = set(zip(*graph.edge_index.tolist(), strict=True))
    assert entries == {*bonds, *((target, source) for source, target in bonds)}
    np.testing.assert_array_equal(graph.x.numpy(), np.concatenate(FEATURES))
    assert graph.y.tolist() == np.repeat(LABELS, SIZES).tolist()
    masks = (graph.train_mask, graph.val_mask, graph.test_mask)
    assert [mask.nonzero().view(-1).tolist() for mask in masks] == [[0, 1, 2, 8, 9], [3], [4, 5, 6, 7]]


def test_reads_molecules_from_the_data_folder(tmp_path, capfd, listing):
    root, cache = tmp_path / "root", tmp_path / "cache"
    folder = molhiv(root)
    before = listing(folder)
    assert place(MOLHIV, root, cache)
    for _ in range(2):  # processed, then from the cache
        check(load(DatasetName.parse("ogbg-molhiv"), root, cache))
    assert listing(folder) == before
    assert capfd.readouterr() == ("", "")


def test_a_bond_that_leaves_its_molecule_and_labels_of_others_are_one_line(tmp_path):
    for node in (-1, 3):
        folder = molhiv(tmp_path, node)
        with pytest.raises(UsageError, match=r"\(a graph of 3 nodes has an edge to node"):
            ogb.read_molecules(MOLHIV, folder, tmp_path / f"cache{node}")
    table(molhiv(tmp_path) / "raw/graph-label", LABELS[:-1])
    with pytest.raises(UsageError, match="3 labels for 4 graphs"):
        ogb.read_molecules(MOLHIV, folder, tmp_path / "cache")
