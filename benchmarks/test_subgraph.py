"""Cutting a graph: the edges among half of its nodes or between its halves, and the neighbourhood of a few.

Mini-batch training on large graphs cuts a subgraph for each batch, usually on the CPU while the GPU trains.
"""

import pytest


@pytest.mark.operations("subgraph")
def test_subgraph(case, kernel, measure):
    """Half of the nodes, renumbered, with the weights of their edges."""
    measure(kernel.run, kernel.build(case), case.edge_weight(), result=kernel.result)


@pytest.mark.operations("bipartite_subgraph")
def test_bipartite_subgraph(case, kernel, measure):
    """The edges from one half of the nodes to the other, renumbered, with their weights."""
    measure(kernel.run, kernel.build(case), case.edge_weight(), result=kernel.result)


@pytest.mark.operations("k_hop_subgraph")
def test_k_hop_subgraph(case, kernel, measure):
    """All edges among the nodes that are at most two hops before one of 16 seeds."""
    measure(kernel.run, kernel.build(case), result=kernel.result)
