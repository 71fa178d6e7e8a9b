"""Batches of small graphs: how many are joined, and of which nodes edges are kept."""

import pytest
from torch_geometric.nn.pool.connect import FilterEdges

from gnnbench.workloads.operations import OPERATIONS, batch
from tests.workloads.cells import check, workload_of

BATCHED = [name for name, operation in OPERATIONS.items() if operation.group == "batches"]


def test_the_edges_of_kept_nodes_are_compared(make_case, monkeypatch):
    def one_less(self, *args, **options):
        found = forward(self, *args, **options)
        found.edge_index = found.edge_index[:, 1:]
        return found

    forward = FilterEdges.forward
    monkeypatch.setattr(FilterEdges, "forward", one_less)
    workload = workload_of(make_case("topk_pool", "pyg", hidden=16))
    workload.must_be_found_wrong(lambda run, *inputs: run(*inputs), "wrong|shape|positions")


@pytest.mark.parametrize(
    ("operation", "platform"), [(name, platform) for name in BATCHED for platform in OPERATIONS[name].calls]
)
def test_a_batch_is_the_first_graphs(make_case, monkeypatch, operation, platform):
    monkeypatch.setattr(batch, "SIZE", 5)
    check(make_case(operation, platform, OPERATIONS[operation].directions[-1], hidden=16))
