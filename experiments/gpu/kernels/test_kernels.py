"""PyTorch kernels from one launch to a few milliseconds, on the device in GPU_DEVICE.

They do not use PyG, because a process without it starts in half the time and `gnnbench ab` needs many.
"""

import os

import pytest
import torch

DEVICE = os.environ.get("GPU_DEVICE", "cuda")
NODES, EDGES, FEATURES = (2000, 20_000, 8) if os.environ.get("GPU_SMALL") else (200_000, 4_000_000, 128)


@pytest.fixture(scope="module")
def edge_index():
    """Random entries, sorted by target."""
    target, source = torch.randint(NODES, (2, EDGES), generator=torch.Generator().manual_seed(0))
    return torch.stack((source, target.sort().values)).to(DEVICE)


@pytest.fixture(scope="module")
def x():
    return torch.randn(NODES, FEATURES, generator=torch.Generator().manual_seed(1)).to(DEVICE)


def test_add(benchmark, x):
    """A launch and little more."""
    benchmark(torch.add, x[:64], 1)


def test_copy(benchmark, x):
    benchmark(torch.clone, x)


def test_product(benchmark, x):
    weight = torch.randn(FEATURES, FEATURES, device=DEVICE)
    benchmark(torch.mm, x, weight)


def test_spmm(benchmark, edge_index, x):
    degree = torch.bincount(edge_index[1], minlength=NODES)
    pointer = torch.cat((degree.new_zeros(1), degree.cumsum(0)))
    values = torch.ones(EDGES, device=DEVICE)
    adjacency = torch.sparse_csr_tensor(
        pointer, edge_index[0], values, (NODES, NODES), check_invariants=False
    )
    benchmark(torch.mm, adjacency, x)


def gather_scatter(x, source, target):
    return torch.zeros_like(x).index_add_(0, target, x.index_select(0, source))


def test_gather_scatter(benchmark, edge_index, x):
    benchmark(gather_scatter, x, *edge_index.unbind())


def test_degrees(benchmark, edge_index):
    """Short kernels one after another."""
    benchmark(
        lambda target: torch.bincount(target, minlength=NODES).clamp(min=1).double().rsqrt(), edge_index[1]
    )


def test_gather(benchmark, edge_index, x):
    """Rows to edges: the largest that is moved."""
    benchmark(torch.index_select, x, 0, edge_index[0])


def test_sort(benchmark, edge_index):
    """What puts a graph in order."""
    benchmark(torch.sort, edge_index[0])
