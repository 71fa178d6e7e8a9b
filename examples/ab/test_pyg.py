"""Benchmarks without gnnbench's fixtures, to compare two releases of PyG.

gnnbench ab "pip:torch_geometric==2.3.1" "pip:torch_geometric==2.4.0" -- examples/ab/test_pyg.py

to_torch_csr_tensor is faster in 2.4.0.
"""

import pytest
import torch
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import to_torch_csr_tensor

NODES, EDGES = 20_000, 200_000


@pytest.fixture(scope="module")
def edge_index():
    """Edges in random order, with duplicates."""
    return torch.randint(NODES, (2, EDGES), generator=torch.Generator().manual_seed(0))


def test_to_torch_csr_tensor(benchmark, edge_index):
    benchmark(to_torch_csr_tensor, edge_index, size=(NODES, NODES))


def test_gcn_norm(benchmark, edge_index):
    benchmark(gcn_norm, edge_index, None, NODES)
