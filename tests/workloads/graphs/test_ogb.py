"""ogb's own loader on small data sets in the layouts that OGB publishes, written here."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from gnnbench.errors import UsageError
from gnnbench.workloads.graphs import ogb
from gnnbench.workloads.graphs.catalog import DATASETS, DatasetName
from gnnbench.workloads.graphs.load import load
from gnnbench.workloads.graphs.locate import place, under_data_root

NODES = 30
ARXIV, MAG, HETERO = (DATASETS[name] for name in ("ogbn-arxiv", "ogbn-mag", "ogbn-mag-hetero"))
SPLIT = dict(zip(("train", "valid", "test"), np.split(np.arange(NODES), [20, 25]), strict=True))
EDGES = np.stack((np.arange(NODES - 1), np.arange(1, NODES)), axis=1)
FEATURES = np.arange(NODES * 4, dtype=np.float32).reshape(NODES, 4) / 8


def table(path, values):
    """Write a table without a header, compressed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(values).to_csv(f"{path}.csv.gz", index=False, header=False, compression="gzip")


def write_folder(root, name, split, version=1, parts=SPLIT):
    folder = root / "ogb" / name
    for part, ids in parts.items():
        table(folder / "split" / split / part, ids)
    (folder / f"RELEASE_v{version}.txt").touch()
    return folder


def homogeneous(folder, **tables):
    table(folder / "raw/edge", EDGES)
    table(folder / "raw/num-node-list", [NODES])
    table(folder / "raw/num-edge-list", [NODES - 1])
    for name, values in tables.items():
        table(folder / "raw" / name, values)
    return folder


def arxiv(root, version=1):
    years, labels = np.full(NODES, 2015), np.arange(NODES) % 40
    tables = {"node-feat": FEATURES, "node_year": years, "node-label": labels}
    return homogeneous(write_folder(root, "ogbn_arxiv", "time", version), **tables)


def test_reads_a_csv_data_set_and_leaves_the_data_root_alone(tmp_path, capfd, listing):
    root, cache = tmp_path / "root", tmp_path / "cache"
    before = listing(arxiv(root))
    assert place(ARXIV, root, cache)
    first, again = (ogb.read(ARXIV, under_data_root(ARXIV, root), cache) for _ in range(2))
    assert (first.num_nodes, first.num_edges, first.num_classes) == (NODES, 2 * (NODES - 1), 40)
    np.testing.assert_array_equal(first.x.numpy(), FEATURES)
    assert first.y.tolist() == list(range(NODES))
    assert first.train_mask.sum() == 20
    assert first.content_hash == again.content_hash
    assert listing(root / "ogb/ogbn_arxiv") == before
    assert capfd.readouterr() == ("", "")
    assert sys.modules["ogb.version"].check_outdated is None, "it asks no package index"
    assert "outdated" not in sys.modules


def test_an_older_release_is_used_without_a_question_and_changed_files_are_read_anew(tmp_path):
    folder, cache = arxiv(tmp_path, version=0), tmp_path / "cache"
    assert ogb.read(ARXIV, under_data_root(ARXIV, tmp_path), cache).num_nodes == NODES
    table(folder / "raw/node-label", np.full(NODES, 39))
    assert set(ogb.read(ARXIV, folder, cache).y.tolist()) == {39}


def test_proteins_get_the_mean_of_their_edges_and_many_labels(tmp_path):
    proteins = DATASETS["ogbn-proteins"]
    tables = {
        "edge-feat": np.repeat(np.arange(NODES - 1.0)[:, None], 8, axis=1),
        "species": np.zeros(NODES, dtype=int),
        "node-label": np.arange(NODES * 112).reshape(NODES, 112) % 2,
    }
    homogeneous(write_folder(tmp_path, "ogbn_proteins", "species"), **tables)
    graph = ogb.read(proteins, under_data_root(proteins, tmp_path), tmp_path / "cache")
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
    folder = write_folder(root, "ogbn_mag", "time/paper", version=2)
    raw, split = folder / "raw", folder / "split/time"
    table(raw / "triplet-type-list", list(RELATIONS))
    for triplet, edges in RELATIONS.items():
        relation = raw / "relations" / "___".join(triplet)
        table(relation / "edge", edges)
        table(relation / "num-edge-list", [len(edges)])
        table(relation / "edge_reltype", np.zeros((len(edges), 1), dtype=int))
    table(raw / "node-feat/paper/node-feat", FEATURES)
    table(raw / "node-feat/paper/node_year", np.full(NODES, 2015))
    table(raw / "node-label/paper/node-label", np.arange(NODES))
    has = pd.DataFrame({name: [name == "paper"] for name in COUNTS})
    for file in (raw / "nodetype-has-feat", raw / "nodetype-has-label", split / "nodetype-has-split"):
        has.to_csv(f"{file}.csv.gz", index=False)
    pd.DataFrame([COUNTS]).to_csv(raw / "num-node-dict.csv.gz", index=False)
    return folder


def test_both_mags_are_read_from_one_folder(tmp_path):
    """Of one, papers that cite papers are taken; of the other, all types."""
    assert not place(HETERO, tmp_path, tmp_path / "cache")
    folder = mag(tmp_path)
    assert under_data_root(MAG, tmp_path) == under_data_root(HETERO, tmp_path) == folder
    papers, graph = (ogb.read(one, folder, tmp_path / "cache") for one in (MAG, HETERO))
    assert len(list((tmp_path / "cache").rglob("data_processed"))) == 1
    assert (papers.num_nodes, papers.num_edges, papers.num_classes) == (NODES, 2 * (NODES - 1), 349)
    assert papers.test_mask.sum() == 5
    assert papers.edge_type is None
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


@pytest.mark.parametrize("end", [-1, 2])
def test_a_node_that_its_type_does_not_have_is_one_line(tmp_path, end):
    folder = mag(tmp_path)
    table(folder / "raw/relations/author___affiliated_with___institution/edge", [[0, end], [4, 1]])
    with pytest.raises(UsageError, match="'affiliated_with' has a node that is not there"):
        ogb.read(HETERO, folder, tmp_path / "cache")


def test_reads_a_binary_data_set_that_ogb_itself_saved(tmp_path, capfd):
    from ogb.io import DatasetSaver  # slow to import

    labels = np.arange(NODES, dtype=np.float32)[:, None]
    labels[3] = np.nan  # as ogbn-papers100M marks papers without a class
    saver = DatasetSaver("ogbn-papers100M", is_hetero=False, version=1, root=str(tmp_path / "saved"))
    saver.save_graph_list([{"edge_index": EDGES.T, "num_nodes": NODES, "node_feat": FEATURES}])
    saver.save_target_labels(labels)
    saver.save_split(SPLIT, split_name="time")
    capfd.readouterr()
    for _ in range(2):  # processed, then from its cache
        graph = ogb.read(DATASETS["ogbn-papers100M"], Path(saver.dataset_dir), tmp_path / "cache")
        assert graph.num_edges == 2 * (NODES - 1)
        assert graph.y.tolist() == [0 if i == 3 else i for i in range(NODES)]
        assert graph.val_mask.nonzero().view(-1).tolist() == SPLIT["valid"].tolist()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.parents[2].joinpath("raw/edge.csv.gz").write_bytes(b"not gzip"), ""),
        (lambda path: torch.save({"train": Path.unlink}, path), "is not part of an array"),
        (
            lambda path: torch.jit.save(torch.jit.script(torch.nn.Identity()), path),
            r"split_dict\.pt is TorchScript, not arrays",
        ),
        *(
            (lambda path, split=split: torch.save(split, path, pickle_protocol=4), "")
            for split in ({}, [1], {"train": 1, "valid": 2}, {"train": None})
        ),
    ],
)
def test_a_broken_or_hostile_file_is_one_line(tmp_path, spoil, message):
    folder = arxiv(tmp_path)
    spoil(folder / "split/time/split_dict.pt")
    expected = rf"ogbn-arxiv: the files in .* cannot be read \(.*{message}.*\); replace them"
    with pytest.raises(UsageError, match=expected):
        ogb.read(ARXIV, folder, tmp_path / "cache")


MOLHIV = DATASETS["ogbg-molhiv"]
SIZES = [3, 1, 4, 2]
"""Numbers of atoms of chains; the second molecule has no bond."""
CHAINS = [np.stack((np.arange(size - 1), np.arange(1, size))) for size in SIZES]
ATOMS = [np.arange(size * 9).reshape(size, 9) for size in SIZES]
LABELS = [1, 0, 0, 1]
PARTS = {"train": np.array([0, 3]), "valid": np.array([1]), "test": np.array([2])}


def molhiv(root, node=None):
    """Write the published layout, whose files have one direction of each bond; `node` replaces one end."""
    folder = write_folder(root, "ogbg_molhiv", "scaffold", parts=PARTS)
    edges = np.concatenate(CHAINS, axis=1).T
    if node is not None:
        edges[0, 1] = node
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


def check_molecules(graph):
    assert (graph.name, graph.synthetic, graph.sizes.tolist()) == ("ogbg-molhiv", False, SIZES)
    bonds = [(0, 1), (1, 2), (4, 5), (5, 6), (6, 7), (8, 9)]
    entries = set(zip(*graph.edge_index.tolist(), strict=True))
    assert entries == {*bonds, *((target, source) for source, target in bonds)}
    np.testing.assert_array_equal(graph.x.numpy(), np.concatenate(ATOMS))
    assert graph.y.tolist() == np.repeat(LABELS, SIZES).tolist()
    masks = (graph.train_mask, graph.val_mask, graph.test_mask)
    assert [mask.nonzero().view(-1).tolist() for mask in masks] == [[0, 1, 2, 8, 9], [3], [4, 5, 6, 7]]


def test_reads_molecules_from_the_data_folder(tmp_path, capfd, listing):
    root, cache = tmp_path / "root", tmp_path / "cache"
    folder = molhiv(root)
    before = listing(folder)
    assert place(MOLHIV, root, cache)
    for _ in range(2):  # processed, then from the cache
        check_molecules(load(DatasetName.parse("ogbg-molhiv"), root, cache))
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
