"""ogb's readers on small data sets in the layouts that OGB publishes, written here."""

import gzip
import sys

import numpy as np
import pandas as pd
import pytest
import torch

from gnnbench.engine.ground.errors import UsageError
from gnnbench.suite.graphs.catalog import DATASETS, DatasetName
from gnnbench.suite.graphs.load import load
from gnnbench.suite.graphs.locate import place

NODES = 30
SPLIT = dict(zip(("train", "valid", "test"), np.split(np.arange(NODES), [20, 25]), strict=True))
EDGES = np.stack((np.arange(NODES - 1), np.arange(1, NODES)), axis=1)
FEATURES = np.arange(NODES * 4, dtype=np.float32).reshape(NODES, 4) / 8


def read(name, root):
    return load(DatasetName.parse(name), root, root / "cache")


def table(path, values):
    """Write a table without a header, compressed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(values).to_csv(f"{path}.csv.gz", index=False, header=False, compression="gzip")


def write_folder(root, name, split, parts=SPLIT):
    folder = root / "ogb" / name
    for part, ids in parts.items():
        table(folder / "split" / split / part, ids)
    return folder


def homogeneous(folder, **tables):
    table(folder / "raw/edge", EDGES)
    table(folder / "raw/num-node-list", [NODES])
    table(folder / "raw/num-edge-list", [NODES - 1])
    for name, values in tables.items():
        table(folder / "raw" / name, values)
    return folder


def arxiv(root):
    tables = {"node-feat": FEATURES, "node-label": np.arange(NODES) % 40}
    return homogeneous(write_folder(root, "ogbn_arxiv", "time"), **tables)


def test_reads_a_csv_data_set_and_leaves_the_data_root_alone(tmp_path, capfd, listing):
    before = listing(arxiv(tmp_path))
    assert place(DATASETS["ogbn-arxiv"], tmp_path, tmp_path / "cache") == "data root"
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

    folder = mag(tmp_path)
    first = read("ogbn-mag-hetero", tmp_path)
    with monkeypatch.context() as patch:
        patch.delattr(read_graph_raw, "read_csv_heterograph_raw")
        again = read("ogbn-mag-hetero", tmp_path)
    assert again.relations == first.relations
    assert again.content_hash == first.content_hash
    table(folder / "raw/node-label/paper/node-label", np.full(NODES, 39))
    assert set(read("ogbn-mag-hetero", tmp_path).y.tolist()) == {0, 39}


def test_proteins_get_the_mean_of_their_edges_and_many_labels(tmp_path):
    tables = {
        "edge-feat": np.repeat(np.arange(NODES - 1.0)[:, None], 8, axis=1),
        "node-label": np.arange(NODES * 112).reshape(NODES, 112) % 2,
    }
    homogeneous(write_folder(tmp_path, "ogbn_proteins", "species"), **tables)
    graph = read("ogbn-proteins", tmp_path)
    assert graph.num_edges == 2 * (NODES - 1)
    assert graph.x[:, 7].tolist() == [0.0, *(i + 0.5 for i in range(NODES - 2)), NODES - 2.0]
    assert (graph.y.dtype, tuple(graph.y.shape)) == (torch.float32, (NODES, 112))


RELATIONS = {
    ("author", "affiliated_with", "institution"): np.array([[0, 1], [4, 1]]),
    ("author", "writes", "paper"): np.array([[4, 29], [0, 3]]),
    ("paper", "cites", "paper"): EDGES,
    ("paper", "has_topic", "field_of_study"): np.array([[7, 2], [8, 0], [7, 2]]),
}
COUNTS = {"author": 5, "field_of_study": 3, "institution": 2, "paper": NODES}


def mag(root):
    folder = write_folder(root, "ogbn_mag", "time/paper")
    raw = folder / "raw"
    table(raw / "triplet-type-list", list(RELATIONS))
    for triplet, edges in RELATIONS.items():
        relation = raw / "relations" / "___".join(triplet)
        table(relation / "edge", edges)
        table(relation / "num-edge-list", [len(edges)])
    table(raw / "node-feat/paper/node-feat", FEATURES)
    table(raw / "node-label/paper/node-label", np.arange(NODES))
    pd.DataFrame([COUNTS]).to_csv(raw / "num-node-dict.csv.gz", index=False)
    return folder


def test_all_types_of_mag_are_read(tmp_path):
    assert not place(DATASETS["ogbn-mag-hetero"], tmp_path, tmp_path / "cache")
    mag(tmp_path)
    graph = read("ogbn-mag-hetero", tmp_path)
    assert graph.type_sizes == {"paper": NODES, "author": 5, "institution": 2, "field_of_study": 3}
    assert (graph.name, graph.synthetic, graph.num_classes) == ("ogbn-mag-hetero", False, 349)
    first = {"paper": 0, "author": 30, "institution": 35, "field_of_study": 37}
    expected = set()
    for (head, name, tail), edges in RELATIONS.items():
        for source, target in edges.tolist():
            ends = source + first[head], target + first[tail]
            expected |= {(name, *ends), (name if head == tail else f"rev_{name}", *reversed(ends))}
    names = [graph.relations[position].name for position in graph.edge_type]
    assert set(zip(names, *graph.edge_index.tolist(), strict=True)) == expected
    assert graph.num_edges == len(expected)
    np.testing.assert_array_equal(graph.x[:NODES].numpy(), FEATURES)
    assert graph.x[NODES:].abs().sum(1).min() > 0
    assert graph.y.tolist() == [*range(NODES), *[0] * 10]
    masks = torch.stack((graph.train_mask, graph.val_mask, graph.test_mask))
    assert masks[:, :NODES].sum(1).tolist() == [20, 5, 5]
    assert not masks[:, NODES:].any()


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("raw/edge.csv.gz", b"not gzip", "gzip"),
        ("raw/node-label.csv.gz", gzip.compress(b"one\n"), "'one'"),
        ("raw/old/node-label.csv.gz", b"", r"raw has 2 files node-label\.csv\.gz"),
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


SIZES = [3, 1, 4, 2]
"""Numbers of atoms of chains; the second molecule has no bond."""
CHAINS = [np.stack((np.arange(size - 1), np.arange(1, size))) for size in SIZES]
ATOMS = [np.arange(size * 9).reshape(size, 9) for size in SIZES]
LABELS = [1, 0, 0, 1]
PARTS = {"train": np.array([0, 3]), "valid": np.array([1]), "test": np.array([2])}


def molhiv(root):
    """Write the published layout, whose files have one direction of each bond."""
    folder = write_folder(root, "ogbg_molhiv", "scaffold", parts=PARTS)
    edges = np.concatenate(CHAINS, axis=1).T
    for name, values in {
        "edge": edges,
        "edge-feat": np.zeros((len(edges), 3), dtype=int),
        "node-feat": np.concatenate(ATOMS),
        "num-node-list": SIZES,
        "num-edge-list": np.array(SIZES) - 1,
        "graph-label": LABELS,
    }.items():
        table(folder / "raw" / name, values)
    return folder


def test_reads_molecules_from_the_data_folder(tmp_path, capfd, listing):
    folder = molhiv(tmp_path)
    before = listing(folder)
    graph, again = (read("ogbg-molhiv", tmp_path) for _ in range(2))  # from its tables, then from the cache
    assert graph.content_hash == again.content_hash
    assert (graph.name, graph.synthetic, graph.sizes.tolist()) == ("ogbg-molhiv", False, SIZES)
    bonds = [(0, 1), (1, 2), (4, 5), (5, 6), (6, 7), (8, 9)]
    entries = set(zip(*graph.edge_index.tolist(), strict=True))
    assert entries == {*bonds, *((target, source) for source, target in bonds)}
    np.testing.assert_array_equal(graph.x.numpy(), np.concatenate(ATOMS))
    assert graph.y.tolist() == np.repeat(LABELS, SIZES).tolist()
    masks = (graph.train_mask, graph.val_mask, graph.test_mask)
    assert [mask.nonzero().view(-1).tolist() for mask in masks] == [[0, 1, 2, 8, 9], [3], [4, 5, 6, 7]]
    assert listing(folder) == before
    assert capfd.readouterr() == ("", "")
