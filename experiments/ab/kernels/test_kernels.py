"""The four kernels of docs/experiments/measurement.md.

`gnnbench ab . . --plant 5% -- experiments/ab/kernels` slows each down by 5 % of its own time.
"""

import pytest
import torch
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import add_remaining_self_loops

NODES, EDGES, FEATURES = 20_000, 200_000, 64


@pytest.fixture(scope="module")
def edge_index():
    return torch.randint(NODES, (2, EDGES), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def x():
    return torch.randn(NODES, FEATURES, generator=torch.Generator().manual_seed(1))


def gather_scatter(x, edge_index):
    return torch.zeros_like(x).index_add_(0, edge_index[1], x.index_select(0, edge_index[0]))


def test_spmm(benchmark, edge_index, x):
    adjacency = torch.sparse_coo_tensor(edge_index, torch.ones(EDGES), (NODES, NODES)).to_sparse_csr()
    benchmark(torch.mm, adjacency, x)


def test_gcn_norm(benchmark, edge_index):
    benchmark(gcn_norm, edge_index, None, NODES)


def test_add_remaining_self_loops(benchmark, edge_index):
    inputs = (edge_index, None, 1.0, NODES)
    benchmark(add_remaining_self_loops, *inputs)


def test_gather_scatter(benchmark, edge_index, x):
    benchmark(gather_scatter, x, edge_index)
