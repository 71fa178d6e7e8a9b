"""The kernels of experiments/ab/kernels, called through a package."""

import kernels
import pytest
import torch

NODES, EDGES, FEATURES = 20_000, 200_000, 64


@pytest.fixture(scope="module")
def edge_index():
    return torch.randint(NODES, (2, EDGES), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def x():
    return torch.randn(NODES, FEATURES, generator=torch.Generator().manual_seed(1))


def test_spmm(benchmark, edge_index, x):
    adjacency = torch.sparse_coo_tensor(edge_index, torch.ones(EDGES), (NODES, NODES)).to_sparse_csr()
    benchmark(kernels.spmm, adjacency, x)


def test_gcn_norm(benchmark, edge_index):
    benchmark(kernels.gcn_norm, edge_index, NODES)


def test_add_remaining_self_loops(benchmark, edge_index):
    benchmark(kernels.add_remaining_self_loops, edge_index, NODES)


def test_gather_scatter(benchmark, edge_index, x):
    benchmark(kernels.gather_scatter, x, edge_index)
