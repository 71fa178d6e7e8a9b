"""Functions of torch_geometric on a random graph."""

import pytest
import torch
from torch_geometric import utils
from torch_geometric.nn.conv.gcn_conv import gcn_norm

NODES, EDGES, HEADS = 20_000, 200_000, 8


@pytest.fixture(scope="module")
def edge_index():
    return torch.randint(NODES, (2, EDGES), generator=torch.Generator().manual_seed(0))


def test_to_torch_csr_tensor(benchmark, edge_index):
    benchmark(utils.to_torch_csr_tensor, edge_index, size=(NODES, NODES))


def test_add_remaining_self_loops(benchmark, edge_index):
    benchmark(utils.add_remaining_self_loops, edge_index, None, 1.0, NODES)


def test_coalesce(benchmark, edge_index):
    benchmark(utils.coalesce, edge_index, num_nodes=NODES)


def test_degree(benchmark, edge_index):
    benchmark(utils.degree, edge_index[0], NODES)


def test_softmax(benchmark, edge_index):
    scores = torch.randn(EDGES, HEADS, generator=torch.Generator().manual_seed(1))
    benchmark(utils.softmax, scores, edge_index[1], num_nodes=NODES)


def test_gcn_norm(benchmark, edge_index):
    benchmark(gcn_norm, edge_index, None, NODES)
