"""Graphs that are generated: their counts, their bytes, and the shape of what they stand for."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import ks_2samp

from gnnbench.suite.graphs.catalog import DatasetName
from gnnbench.suite.graphs.load import load
from gnnbench.suite.graphs.published import reverses
from gnnbench.suite.sampled import degrees

HASHES = {
    "cora:synthetic": "31323084d6b1f5e9",
    "citeseer:synthetic": "1ef578f4fbdcaa05",
    "aifb:synthetic": "ecc08f73627a15bb",
    "ogbn-mag-hetero:synthetic@0.01": "92b6ce6b9e387e66",
}
OTHERS = ("ogbn-arxiv:synthetic@0.05", "ogbn-products:synthetic@0.01")
TYPED = ("aifb:synthetic", "aifb:synthetic@0.1", "ogbn-mag-hetero:synthetic@0.01")


@cache
def made(text):
    return load(DatasetName.parse(text), None, Path())


@pytest.mark.parametrize("text", [*HASHES, *OTHERS])
def test_a_stand_in_has_its_counts_simple_edges_and_bytes(text):
    name, graph = DatasetName.parse(text), made(text)
    assert (graph.name, graph.synthetic) == (text, True)
    assert (graph.num_nodes, graph.num_edges) == (name.nodes, 2 * name.pairs)
    assert (graph.num_features, graph.num_classes) == (name.dataset.features, name.dataset.classes)
    source, target = graph.edge_index
    assert (source != target).all()
    assert len(torch.unique(target * graph.num_nodes + source)) == graph.num_edges
    masks = torch.stack((graph.train_mask, graph.val_mask, graph.test_mask))
    assert masks.sum(0).max() == 1
    assert masks.sum(1).tolist() == list(name.split)
    assert HASHES.get(text) in (None, graph.content_hash), "bytes are the same on every machine"


@pytest.mark.parametrize("text", TYPED)
def test_relations_have_their_counts_and_types(text):
    name, graph = DatasetName.parse(text), made(text)
    assert graph.relations == name.relations
    assert graph.type_sizes == name.type_sizes
    wanted = {position: edges for block in name.blocks.values() for position, edges in block.items()}
    found = torch.bincount(graph.edge_type, minlength=len(graph.relations)).tolist()
    for position, edges in wanted.items():
        relation, reverse = graph.relations[position], reverses(graph.relations)[position]
        assert found[reverse] == found[position] == edges * (1 if reverse != position else 2), relation
    if graph.node_type is None:
        assert len(graph.node_types) == 1
        return
    assert (graph.node_type.diff() >= 0).all()
    for position, relation in enumerate(graph.relations):
        source, target = graph.node_type[graph.edge_index[:, graph.edge_type == position]]
        assert (source == graph.node_types.index(relation.source)).all()
        assert (target == graph.node_types.index(relation.target)).all()


def test_sizes_of_classes_and_relations_are_skewed():
    harmonic = 1 / np.arange(2, 9)
    classes = np.bincount(made("cora:synthetic").y)
    assert np.abs(classes - 2708 * harmonic / harmonic.sum()).max() <= 1
    assert torch.bincount(made("aifb:synthetic").edge_type).min() == 6


def test_degrees_are_skewed_like_coras(cora):
    found = degrees(made("cora:synthetic"))
    assert ks_2samp(degrees(cora).numpy(), found.numpy()).statistic <= 0.1
    assert 168 / 2 <= found.max() <= 168 * 2
    larger = degrees(made("ogbn-arxiv:synthetic@0.05")).float()
    assert larger.max() > 30 * larger.mean(), "larger graphs have larger hubs"


@pytest.mark.parametrize(
    ("text", "counts", "content_hash"),
    [
        # Of 4096 pairs that are drawn, about half are loops or repetitions in so small a graph.
        ("rmat:8", (256, 4328, 128, 16), "1b619b1a19b40ca0"),
        ("rmat:4@0.01", (16, 0, 128, 16), "56dd5c4bc97fe080"),
        ("uniform:10@4", (1024, 8158, 128, 16), "0457ce6b95f5c6f6"),
        ("hub:10@4", (1024, 2 * 4 * 1024, 128, 16), "1db0c31ff523be12"),
        ("molecules:10", (23_716, 50_996, 28, 2), "62297734bf6b3cbb"),
    ],
)
def test_counts_are_exact_and_bytes_the_same_on_every_machine(text, counts, content_hash):
    graph = made(text)
    assert (graph.name, graph.synthetic) == (text, True)
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == counts
    assert (graph.edge_type, graph.relations) == (None, ())
    assert graph.content_hash == content_hash


def test_each_molecule_is_connected_and_bound_to_no_other():
    graph = made("molecules:7")
    owner, (source, target) = torch.arange(128).repeat_interleave(graph.sizes), graph.edge_index
    assert torch.equal(owner[source], owner[target])
    label = torch.arange(graph.num_nodes)
    while True:
        smallest = label.scatter_reduce(0, target, label[source], "amin")
        if torch.equal(smallest, label):
            break
        label = smallest
    assert len(label.unique()) == len(graph.sizes)


def test_a_molecule_has_one_label_and_is_in_one_part_of_the_split():
    graph = made("molecules:7")
    first = graph.sizes.cumsum(0) - graph.sizes
    masks = (graph.train_mask, graph.val_mask, graph.test_mask)
    for values in (graph.y, *masks):
        assert torch.equal(values[first].repeat_interleave(graph.sizes), values)
    assert [int(mask[first].sum()) for mask in masks] == [128 - 20, 10, 10]
    assert 0.2 < graph.y[first].double().mean() < 0.8
