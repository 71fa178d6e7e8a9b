"""Sampling neighbours of a batch of nodes, at two hops.

Training on large graphs samples them for each batch, on the CPU, and the GPU waits for a slow sampler.
Samplers became slower more than once: weighted sampling in DGL's GraphBolt by a factor of 1.9 (dgl#6257).
"""

from functools import partial

import pytest


@pytest.mark.operations(
    "sample_neighbors",
    *(f"sample_neighbors_{how}" for how in ("replaced", "weighted", "disjoint", "temporal")),
)
def test_sample_neighbors(case, kernel, measure):
    """At most 15 neighbours of each of 128 nodes, then 10 of each neighbour, the same in each call."""
    from gnnbench.suite.operations.neighbors import check

    measure(kernel.run, kernel.build(case), result=partial(check, case, kernel))
