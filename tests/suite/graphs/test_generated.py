"""Graphs that are generated: their counts, their bytes, and the shape of what they stand for."""

from pathlib import Path

import pytest
import torch

from gnnbench.suite.graphs.catalog import DatasetName
from gnnbench.suite.graphs.load import load


def made(text):
    return load(DatasetName.parse(text), None, Path())


@pytest.mark.parametrize(
    ("text", "counts", "content_hash"),
    [
        # Of 4096 pairs that are drawn, about half are loops or repetitions in so small a graph.
        ("rmat:8", (256, 4328, 128, 16), "1b619b1a19b40ca0"),
        ("rmat:4@0.01", (16, 0, 128, 16), "56dd5c4bc97fe080"),
        ("rmat:8@4", (256, 1488, 128, 16), "20eaa0539ce1d9a3"),
        ("uniform:8", (256, 3938, 128, 16), "3b08c146961572a7"),
        ("uniform:10@4", (1024, 8158, 128, 16), "0457ce6b95f5c6f6"),
        ("hub:10@4", (1024, 2 * 4 * 1024, 128, 16), "1db0c31ff523be12"),
        ("hub:10", (1024, 2 * 8 * 1024, 128, 16), "9e2c323192507b38"),
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
