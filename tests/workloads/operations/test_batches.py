"""Batches of small graphs: how many are joined, and what the checks must find."""

import pytest
import torch
from torch_geometric import utils
from torch_geometric.data import Batch

from gnnbench.workloads import platforms
from gnnbench.workloads.operations import OPERATIONS, batch
from gnnbench.workloads.verify import MismatchError, verify
from tests.workloads.test_operations import check, workload_of

BATCHED = [name for name, operation in OPERATIONS.items() if operation.group == "batches"]


@pytest.fixture
def verified(make_case):
    """Verify an operation with another function in the place of the timed one."""

    def verified(operation, platform, run):
        case = make_case(operation, platform, hidden=16)
        _, inputs, result = workload_of(case, platforms.load(platform))
        reference = OPERATIONS[operation].reference
        verify(case, platforms.load(platform), run, inputs, reference, result=result)

    return verified


def _ends_swapped(graphs):
    """Return the batch with sources and targets exchanged: each entry has another number."""
    joined = Batch.from_data_list(graphs)
    joined.edge_index = joined.edge_index.flip(0)
    return joined


def _not_renumbered(graphs):
    joined = Batch.from_data_list(graphs)
    joined.edge_index = torch.cat([graph.edge_index for graph in graphs], dim=1)
    return joined


def _topk_without_scores(graphs, pool, x):
    _, _, _, _, kept, _ = pool(x, graphs.edge_index, batch=graphs.member)
    return x[kept]


MUTANTS = {
    "a graph less": ("batch", lambda graphs: Batch.from_data_list(graphs[:-1])),
    "another order": ("batch", lambda graphs: Batch.from_data_list(graphs[::-1])),
    "nodes not renumbered": ("batch", _not_renumbered),
    "ends swapped": ("batch", _ends_swapped),
    "sums": ("global_mean_pool", lambda g, x: utils.scatter(x, g.member, 0, g.size, "sum")),
    "one graph for all": (
        "global_mean_pool",
        lambda g, x: utils.scatter(x, torch.zeros_like(g.member), 0, g.size, "mean"),
    ),
    "no scores": ("topk_pool", _topk_without_scores),
    "not sorted": ("sort_pool", lambda g, x: utils.to_dense_batch(x, g.member)[0][:, :8].flatten(1)),
    "filled with ones": ("to_dense_batch", lambda g, x: utils.to_dense_batch(x, g.member, fill_value=1)[0]),
}


@pytest.mark.parametrize(("operation", "run"), MUTANTS.values(), ids=MUTANTS)
def test_wrong_results_are_found(verified, operation, run):
    with pytest.raises(MismatchError):
        verified(operation, "pyg", run)


def test_the_edges_of_kept_nodes_are_compared(verified, monkeypatch):
    from torch_geometric.nn.pool.connect import FilterEdges

    def one_less(self, *args, **options):
        found = forward(self, *args, **options)
        found.edge_index = found.edge_index[:, 1:]
        return found

    forward = FilterEdges.forward
    monkeypatch.setattr(FilterEdges, "forward", one_less)
    with pytest.raises(MismatchError):
        verified("topk_pool", "pyg", lambda g, pool, x: pool(x, g.edge_index, batch=g.member)[0])


@pytest.mark.parametrize("name", BATCHED)
def test_a_batch_is_the_first_graphs(make_case, monkeypatch, name):
    monkeypatch.setattr(batch, "SIZE", 5)
    for platform in OPERATIONS[name].calls:
        check(make_case(name, platform, OPERATIONS[name].directions[-1], hidden=16))


@pytest.mark.parametrize("name", BATCHED)
def test_one_graph_is_refused_with_those_that_are_many(make_case, small_graph, name):
    reason = OPERATIONS[name].why_not_on(small_graph)
    assert reason == "small is one graph, not many: use --gnn-dataset molecules:10"
    assert OPERATIONS[name].why_not_on(make_case(name).graph) is None
    assert OPERATIONS["spmm_sum"].why_not_on(make_case(name).graph) is None
