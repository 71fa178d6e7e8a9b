"""ogb's own loader on molecules that ogb saved, in the layout that OGB publishes and in its binary one."""

from pathlib import Path

import numpy as np
import pytest

from gnnbench.errors import UsageError
from gnnbench.workloads.graphs import ogbg
from gnnbench.workloads.graphs.catalog import DATASETS, DatasetName
from gnnbench.workloads.graphs.load import load
from gnnbench.workloads.graphs.locate import is_here, under_data_root
from tests.workloads.graphs.ogb_files import saved, table

MOLHIV = DATASETS["ogbg-molhiv"]
SIZES = [3, 1, 4, 2]
"""Atoms of chains; the second molecule has no bond."""
LABELS = [1, 0, 0, 1]
SPLIT = {"train": np.array([0, 3]), "valid": np.array([1]), "test": np.array([2])}


def _chain(size: int) -> np.ndarray:
    return np.stack((np.arange(size - 1), np.arange(1, size)))


def _features(size: int) -> np.ndarray:
    return np.arange(size * 9).reshape(size, 9)


def _molhiv(root: Path, node: int | None = None) -> Path:
    """Write the published layout, whose files have one direction of each bond; `node` replaces one end."""
    folder = root / "ogb/ogbg_molhiv"
    edges = np.concatenate([_chain(size) for size in SIZES], axis=1).T
    if node is not None:
        edges[0, 1] = node
    table(folder / "raw/edge", edges)
    table(folder / "raw/edge-feat", np.zeros((len(edges), 3), dtype=int))
    table(folder / "raw/node-feat", np.concatenate([_features(size) for size in SIZES]))
    table(folder / "raw/num-node-list", SIZES)
    table(folder / "raw/num-edge-list", np.array(SIZES) - 1)
    table(folder / "raw/graph-label", LABELS)
    for part, members in SPLIT.items():
        table(folder / "split/scaffold" / part, members)
    (folder / "RELEASE_v1.txt").touch()
    return folder


def _check(graph: object) -> None:
    assert (graph.name, graph.synthetic, graph.sizes.tolist()) == ("ogbg-molhiv", False, SIZES)
    bonds = [(0, 1), (1, 2), (4, 5), (5, 6), (6, 7), (8, 9)]
    entries = set(zip(*graph.edge_index.tolist(), strict=True))
    assert entries == {*bonds, *((target, source) for source, target in bonds)}
    np.testing.assert_array_equal(graph.x.numpy(), np.concatenate([_features(size) for size in SIZES]))
    assert graph.y.tolist() == np.repeat(LABELS, SIZES).tolist()
    masks = (graph.train_mask, graph.val_mask, graph.test_mask)
    assert [mask.nonzero().view(-1).tolist() for mask in masks] == [[0, 1, 2, 8, 9], [3], [4, 5, 6, 7]]


def test_reads_molecules_from_the_data_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root, cache = tmp_path / "root", tmp_path / "cache"
    folder = _molhiv(root)
    before = sorted(map(str, folder.rglob("*")))
    assert is_here(MOLHIV, root, cache)
    for _ in range(2):  # processed, then from the cache
        _check(load(DatasetName.parse("ogbg-molhiv"), root, cache))
    assert sorted(map(str, folder.rglob("*"))) == before
    assert capfd.readouterr() == ("", "")


def test_reads_what_ogb_itself_saved(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    graphs = []
    for size in SIZES:
        both = np.concatenate((_chain(size), _chain(size)[::-1]), axis=1)
        graphs.append({"edge_index": both, "num_nodes": size, "node_feat": _features(size)})
    task = {"task_type": "binary classification", "eval_metric": "rocauc", "num_classes": 2}
    meta = saved("ogbg-molhiv", tmp_path, graphs, np.array(LABELS)[:, None], SPLIT, "scaffold", **task)
    capfd.readouterr()
    for _ in range(2):
        _check(ogbg.read(MOLHIV, Path(meta["dir_path"]), tmp_path / "cache", meta))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("node", [-1, 3])
def test_a_bond_that_leaves_its_molecule_is_one_line(tmp_path: Path, node: int) -> None:
    _molhiv(tmp_path, node)
    with pytest.raises(
        UsageError, match=r"cannot be read \(a graph of 3 nodes has an edge to node"
    ) as caught:
        ogbg.read(MOLHIV, under_data_root(MOLHIV, tmp_path), tmp_path / "cache")
    assert "\n" not in str(caught.value)


def test_labels_of_other_molecules_are_one_line(tmp_path: Path) -> None:
    folder = _molhiv(tmp_path)
    table(folder / "raw/graph-label", LABELS[:-1])
    with pytest.raises(UsageError, match="3 labels for 4 graphs"):
        ogbg.read(MOLHIV, folder, tmp_path / "cache")
