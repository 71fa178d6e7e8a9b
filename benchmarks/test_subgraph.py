"""Subgraphs: the edges within half of the nodes or between both halves, and the nodes around a few seeds.

Mini-batch training on large graphs extracts a subgraph per batch, usually on the CPU while the GPU trains.
"""

import pytest


@pytest.mark.operations("subgraph")
def test_subgraph(case, kernel, measure):
    """The edges within half of the nodes, renumbered, with their weights."""
    measure(kernel.run, kernel.build(case), case.edge_weight(), result=kernel.result)


@pytest.mark.operations("bipartite_subgraph")
def test_bipartite_subgraph(case, kernel, measure):
    """The edges from one half of the nodes to the other, renumbered, with their weights."""
    measure(kernel.run, kernel.build(case), case.edge_weight(), result=kernel.result)


@pytest.mark.operations("k_hop_subgraph")
def test_k_hop_subgraph(case, kernel, measure):
    """All edges among the nodes from which a path of at most two edges leads to one of 16 seeds."""
    measure(kernel.run, kernel.build(case), result=kernel.result)
