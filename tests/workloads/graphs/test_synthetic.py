"""The twins: counts, skew, learnability, and the same bytes everywhere."""

from pathlib import Path

import pytest
import torch
from scipy.stats import ks_2samp
from torch.nn.functional import cross_entropy
from torch_geometric.nn import GCN

from gnnbench.workloads.graphs.catalog import DatasetName
from gnnbench.workloads.graphs.graph import Graph
from gnnbench.workloads.graphs.locate import under_data_root
from gnnbench.workloads.graphs.planetoid import read
from gnnbench.workloads.graphs.relation import reverses
from gnnbench.workloads.graphs.synthetic import twin

NAMES = (
    "cora:synthetic",
    "citeseer:synthetic",
    "pubmed:synthetic",
    "ogbn-arxiv:synthetic@0.05",
    "ogbn-products:synthetic@0.01",
    "ogbn-proteins:synthetic@0.01",
    "ogbn-mag:synthetic@0.02",
    "ogbn-papers100M:synthetic@0.0001",
    "aifb:synthetic",
    "aifb:synthetic@0.1",
    "ogbn-mag-hetero:synthetic@0.01",
)
TYPED = NAMES[-3:]


@pytest.fixture(scope="module")
def twins() -> dict[str, Graph]:
    return {name: twin(DatasetName.parse(name)) for name in NAMES}


def _per_relation(graph: Graph) -> list[int]:
    return torch.bincount(graph.edge_type, minlength=len(graph.relations)).tolist()


def _degrees(graph: Graph) -> torch.Tensor:
    return torch.bincount(graph.edge_index[1], minlength=graph.num_nodes)


@pytest.mark.parametrize("text", NAMES)
def test_counts_are_exact_and_edges_simple(twins: dict[str, Graph], text: str) -> None:
    name, graph = DatasetName.parse(text), twins[text]
    assert (graph.name, graph.synthetic) == (text, True)
    assert (graph.num_nodes, graph.num_edges) == (name.nodes, 2 * name.pairs)
    assert (graph.num_features, graph.num_classes) == (name.features, name.classes)
    source, target = graph.edge_index
    assert (source != target).all()
    assert len(torch.unique(target * graph.num_nodes + source)) == graph.num_edges
    masks = torch.stack((graph.train_mask, graph.val_mask, graph.test_mask))
    assert masks.sum(0).max() == 1
    assert masks[1:].sum(1).tolist() == list(name.split[1:])


def test_cora_counts_are_the_published_ones(twins: dict[str, Graph]) -> None:
    cora = twins["cora:synthetic"]
    assert (cora.num_nodes, cora.num_edges, cora.num_features, cora.num_classes) == (2708, 10556, 1433, 7)
    assert torch.bincount(cora.y[cora.train_mask]).tolist() == [20] * 7


@pytest.mark.parametrize("text", NAMES[:5] + NAMES[6:7])
def test_homophily_is_near_the_published_one(twins: dict[str, Graph], text: str) -> None:
    # Not of proteins, which have no classes, nor of a graph so small a part that its classes fill up.
    graph = twins[text]
    source, target = graph.edge_index
    same = (graph.y[source] == graph.y[target]).float().mean()
    assert abs(same - DatasetName.parse(text).published.homophily) < 0.08


@pytest.mark.parametrize("text", TYPED)
def test_relations_have_their_counts_and_are_symmetric(twins: dict[str, Graph], text: str) -> None:
    name, graph = DatasetName.parse(text), twins[text]
    assert graph.relations == name.relations
    assert graph.type_sizes == name.type_sizes
    wanted = {position: edges for block in name.blocks.values() for position, edges in block.items()}
    found = _per_relation(graph)
    for position, edges in wanted.items():
        relation, reverse = graph.relations[position], reverses(graph.relations)[position]
        assert found[reverse] == found[position] == edges * (1 if reverse != position else 2), relation
    back = torch.tensor(reverses(graph.relations))[graph.edge_type]
    source, target = graph.edge_index
    keys = (target * graph.num_nodes + source) * len(graph.relations) + graph.edge_type
    reversed_keys = (source * graph.num_nodes + target) * len(graph.relations) + back
    assert torch.equal(keys, reversed_keys.sort().values)


@pytest.mark.parametrize("text", TYPED)
def test_relations_connect_nodes_of_their_types(twins: dict[str, Graph], text: str) -> None:
    graph = twins[text]
    if graph.node_type is None:
        assert len(graph.node_types) == 1
        return
    assert (graph.node_type.diff() >= 0).all()
    for position, relation in enumerate(graph.relations):
        source, target = graph.node_type[graph.edge_index[:, graph.edge_type == position]]
        assert (source == graph.node_types.index(relation.source)).all()
        assert (target == graph.node_types.index(relation.target)).all()


def test_only_papers_have_classes_and_a_split(twins: dict[str, Graph]) -> None:
    graph = twins["ogbn-mag-hetero:synthetic@0.01"]
    papers = graph.node_type == graph.node_types.index("paper")
    assert papers.sum() == 7364
    assert not graph.y[~papers].any()
    assert not (graph.train_mask | graph.val_mask | graph.test_mask)[~papers].any()
    assert graph.x.abs().sum(1).min() > 0


def test_aifb_has_as_many_labelled_nodes_as_published(twins: dict[str, Graph]) -> None:
    aifb = twins["aifb:synthetic"]
    masks = (aifb.train_mask, aifb.val_mask, aifb.test_mask)
    assert [int(mask.sum()) for mask in masks] == [140, 0, 36]
    assert (aifb.num_nodes, aifb.num_edges, len(aifb.relations)) == (8285, 58_086, 90)
    assert min(_per_relation(aifb)) == 6


def test_both_ends_of_a_relation_are_skewed(twins: dict[str, Graph]) -> None:
    graph = twins["ogbn-mag-hetero:synthetic@0.01"]
    for name in ("writes", "rev_writes", "has_topic"):
        position = next(index for index, one in enumerate(graph.relations) if one.name == name)
        degrees = torch.bincount(graph.edge_index[1, graph.edge_type == position])
        degrees = degrees[degrees > 0].double()
        assert degrees.max() > 6 * degrees.mean()


def test_proteins_have_many_labels(twins: dict[str, Graph]) -> None:
    y = twins["ogbn-proteins:synthetic@0.01"].y
    assert (y.dtype, y.size(1)) == (torch.float32, 112)
    assert set(y.unique().tolist()) == {0.0, 1.0}


def test_words_of_a_node_weigh_one_together(twins: dict[str, Graph]) -> None:
    x = twins["cora:synthetic"].x
    torch.testing.assert_close(x.sum(1), torch.ones(2708))
    assert 16 < (x > 0).sum(1).float().mean() < 18.5


def test_degrees_are_skewed_like_coras(twins: dict[str, Graph], cora_root: Path, tmp_path: Path) -> None:
    dataset = DatasetName.parse("cora").published
    real = _degrees(read(dataset, under_data_root(dataset, cora_root), tmp_path))
    made = _degrees(twins["cora:synthetic"])
    assert ks_2samp(real.numpy(), made.numpy()).statistic <= 0.1
    assert 168 / 2 <= made.max() <= 168 * 2


def test_larger_graphs_have_larger_hubs(twins: dict[str, Graph]) -> None:
    degrees = _degrees(twins["ogbn-arxiv:synthetic@0.05"]).float()
    assert degrees.max() > 30 * degrees.mean()


def _accuracy(graph: Graph, hidden: int, layers: int, epochs: int) -> float:
    torch.manual_seed(0)
    model = GCN(graph.num_features, hidden, layers, graph.num_classes)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        optimizer.zero_grad()
        out = model(graph.x, graph.edge_index)
        cross_entropy(out[graph.train_mask], graph.y[graph.train_mask]).backward()
        optimizer.step()
    predicted = model(graph.x, graph.edge_index).argmax(1)
    return float((predicted == graph.y)[graph.test_mask].float().mean())


@pytest.mark.parametrize("layers", [2, 3])
def test_a_network_learns_coras_twin_as_well_as_cora(twins: dict[str, Graph], layers: int) -> None:
    assert 0.6 < _accuracy(twins["cora:synthetic"], 32, layers, 100) < 0.9


def test_a_network_learns_arxivs_twin(twins: dict[str, Graph]) -> None:
    assert 0.4 < _accuracy(twins["ogbn-arxiv:synthetic@0.05"], 64, 2, 60) < 0.95


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("cora:synthetic", "460d691e1b39d232"),
        ("citeseer:synthetic", "720948ac1ad840a0"),
        ("ogbn-proteins:synthetic@0.01", "78429d2830913e43"),
        ("aifb:synthetic", "aa15daa1dc019303"),
        ("ogbn-mag-hetero:synthetic@0.01", "5c4be64b037c838f"),
    ],
)
def test_bytes_are_the_same_on_every_machine(twins: dict[str, Graph], text: str, content: str) -> None:
    assert twins[text].content_hash == content


def test_another_seed_is_another_graph(twins: dict[str, Graph]) -> None:
    for name in ("cora:synthetic", "aifb:synthetic"):
        other = twin(DatasetName.parse(name), seed=1)
        assert other.num_edges == twins[name].num_edges
        assert other.content_hash != twins[name].content_hash
