"""The kernels of agreement.py: 20,000 nodes, 200,000 random edges, 64 features."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import add_remaining_self_loops, scatter
from torch_sparse import SparseTensor, matmul

NODES, EDGES, FEATURES = 20_000, 200_000, 64
QUIET = [sys.executable, str(Path(__file__).with_name("quiet.py")), os.environ["AGREEMENT_FASTEST"]]


@pytest.fixture(autouse=True)
def _quiet(benchmark: Any) -> Iterator[None]:
    """Wait for an undisturbed moment, at most ten minutes, and save the speed before and after the kernel."""
    before = _look("600")
    yield
    benchmark.extra_info["look_seconds"] = before, _look("0")


def _look(wait_seconds: str) -> float:
    return float(subprocess.run([*QUIET, wait_seconds], check=True, stdout=subprocess.PIPE).stdout)


@pytest.fixture(scope="session")
def edge_index() -> Tensor:
    """Random entries [2, E], sorted by target."""
    edges = torch.randint(0, NODES, (2, EDGES), generator=torch.Generator().manual_seed(0))
    return edges[:, torch.argsort(edges[1] * NODES + edges[0])]


@pytest.fixture(scope="session")
def x() -> Tensor:
    """Random features [N, F]."""
    return torch.randn(NODES, FEATURES, generator=torch.Generator().manual_seed(1))


def test_spmm_csr(benchmark: Any, edge_index: Tensor, x: Tensor) -> None:
    """The product with a CSR tensor of PyTorch."""
    degree = torch.bincount(edge_index[1], minlength=NODES)
    pointer = torch.cat((torch.zeros(1, dtype=torch.int64), degree.cumsum(0)))
    matrix = torch.sparse_csr_tensor(pointer, edge_index[0], torch.ones(EDGES), size=(NODES, NODES))
    benchmark(torch.matmul, matrix, x)


def test_spmm_sparse(benchmark: Any, edge_index: Tensor, x: Tensor) -> None:
    """The product with a SparseTensor of torch_sparse."""
    source, target = edge_index
    adjacency = SparseTensor(row=target, col=source, sparse_sizes=(NODES, NODES), is_sorted=True)
    benchmark(matmul, adjacency, x)


def test_gcn_norm(benchmark: Any, edge_index: Tensor) -> None:
    """PyG's gcn_norm, on edge_index."""
    benchmark(gcn_norm, edge_index, None, NODES)


def test_add_remaining_self_loops(benchmark: Any, edge_index: Tensor) -> None:
    """PyG's."""
    benchmark(add_remaining_self_loops, edge_index, None, None, NODES)


def test_gather_scatter(benchmark: Any, edge_index: Tensor, x: Tensor) -> None:
    """PyG's scatter of the gathered rows."""
    source, target = edge_index
    benchmark(_gather_scatter, source, target, x)


def _gather_scatter(source: Tensor, target: Tensor, x: Tensor) -> Tensor:
    return scatter(x[source], target, 0, NODES, "sum")
