"""The stand-ins: counts, skew, and the same bytes everywhere."""

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
