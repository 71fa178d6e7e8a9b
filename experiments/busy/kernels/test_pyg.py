"""Eight calls of PyG, on a graph of Cora's size."""

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, SAGEConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import coalesce, k_hop_subgraph, to_undirected

NODES, EDGES, FEATURES, HIDDEN = 2708, 10556, 64, 16


@pytest.fixture(scope="module")
def edge_index():
    return torch.randint(NODES, (2, EDGES), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def x():
    return torch.randn(NODES, FEATURES, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("layer", [GCNConv, SAGEConv, GATConv])
def test_layer(benchmark, layer, x, edge_index):
    benchmark(layer(FEATURES, HIDDEN).eval(), x, edge_index)


def test_norm(benchmark, edge_index):
    benchmark(gcn_norm, edge_index, None, NODES)


def test_coalesce(benchmark, edge_index):
    benchmark(coalesce, edge_index)


def test_to_undirected(benchmark, edge_index):
    benchmark(to_undirected, edge_index)


def test_subgraph(benchmark, edge_index):
    benchmark(k_hop_subgraph, torch.arange(100), 2, edge_index)


def test_batch(benchmark):
    graphs = [Data(x=torch.ones(20, 8), edge_index=torch.randint(20, (2, 60))) for _ in range(32)]
    benchmark(Batch.from_data_list, graphs)
