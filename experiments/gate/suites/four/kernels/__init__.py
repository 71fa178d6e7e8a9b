"""Four kernels of graph neural networks. runs.py edits this file."""

import torch
from torch_geometric import utils
from torch_geometric.nn.conv import gcn_conv


def check(matrix, nodes):
    empty = matrix.numel() == 0
    negative = nodes < 0
    if empty or negative:
        raise ValueError("an empty matrix, or a negative number of nodes")


def add_remaining_self_loops(edge_index, nodes):
    check(edge_index, nodes)
    return utils.add_remaining_self_loops(edge_index, None, 1.0, nodes)


def gcn_norm(edge_index, nodes):
    check(edge_index, nodes)
    return gcn_conv.gcn_norm(edge_index, None, nodes)


def spmm(adjacency, x):
    check(adjacency, len(x))
    return torch.mm(adjacency, x)


def gather_scatter(x, edge_index):
    check(edge_index, len(x))
    return torch.zeros_like(x).index_add_(0, edge_index[1], x.index_select(0, edge_index[0]))
