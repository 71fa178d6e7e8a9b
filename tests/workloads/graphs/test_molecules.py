import torch

from gnnbench.workloads.graphs.catalog import DatasetName
from gnnbench.workloads.graphs.graph import Graph
from gnnbench.workloads.graphs.molecules import generate


def _owner(graph: Graph) -> torch.Tensor:
    """Return each node's molecule: int64 [N]."""
    return torch.arange(len(graph.sizes)).repeat_interleave(graph.sizes)


def test_counts_are_zincs_and_bytes_the_same_on_every_machine() -> None:
    name = DatasetName.parse("molecules:10")
    graph = generate(name)
    assert (graph.name, graph.synthetic, len(graph.sizes)) == ("molecules:10", True, 1024)
    assert (graph.num_nodes, graph.num_edges) == (name.nodes, 2 * name.pairs) == (23_716, 50_996)
    assert (graph.num_features, graph.num_classes) == (28, 2)
    assert abs(graph.num_nodes / 1024 - 23.16) < 0.001
    assert abs(graph.num_edges / 1024 - 49.8) < 0.002
    assert graph.content_hash == "897a6837aa8875a0"
    assert generate(name, seed=1).content_hash != graph.content_hash


def test_sizes_lie_between_those_of_zinc() -> None:
    sizes = generate(DatasetName.parse("molecules:13")).sizes
    assert 9 <= sizes.min() < 14
    assert 34 < sizes.max() <= 38
    assert sizes.double().std() > 4


def test_degrees_are_those_of_atoms() -> None:
    graph = generate(DatasetName.parse("molecules:10"))
    counts = graph.edge_index[1].bincount(minlength=graph.num_nodes).bincount()
    assert len(counts) == 4
    assert counts[0] == 0
    assert all(part > 0.15 for part in (counts[1:] / graph.num_nodes).tolist())


def test_each_molecule_is_connected_and_bound_to_no_other() -> None:
    graph = generate(DatasetName.parse("molecules:7"))
    owner, (source, target) = _owner(graph), graph.edge_index
    assert torch.equal(owner[source], owner[target])
    label = torch.arange(graph.num_nodes)
    while True:
        smallest = label.scatter_reduce(0, target, label[source], "amin")
        if torch.equal(smallest, label):
            break
        label = smallest
    assert len(label.unique()) == len(graph.sizes)


def test_a_molecule_has_one_label_and_is_in_one_part_of_the_split() -> None:
    graph = generate(DatasetName.parse("molecules:7"))
    first = graph.sizes.cumsum(0) - graph.sizes
    masks = (graph.train_mask, graph.val_mask, graph.test_mask)
    for values in (graph.y, *masks):
        assert torch.equal(values[first].repeat_interleave(graph.sizes), values)
    assert [int(mask[first].sum()) for mask in masks] == [128 - 20, 10, 10]
    assert 0.2 < graph.y[first].double().mean() < 0.8


def test_the_stand_in_of_molhiv_has_its_counts() -> None:
    name = DatasetName.parse("ogbg-molhiv:synthetic@0.01")
    graph = generate(name)
    assert (len(graph.sizes), graph.num_nodes, graph.num_edges) == (411, name.nodes, 2 * name.pairs)
    assert (graph.num_features, graph.num_classes) == (9, 2)
    first = graph.sizes.cumsum(0) - graph.sizes
    assert int(graph.train_mask[first].sum()) == 329
