"""Random walks of ten steps from 1,024 nodes, to any neighbour and as node2vec weighs them.

Embeddings, GraphSAINT and PinSage walk before they train. A step is one random read of memory, so caches
bound it, and node2vec also searches the neighbours of the last node.
"""

from functools import partial

import pytest


@pytest.mark.operations("random_walk", "node2vec_walk")
def test_random_walk(case, kernel, measure):
    """Each call walks the same ways."""
    from gnnbench.suite.operations.random_walk import checked

    measure(kernel.run, kernel.build(case), result=partial(checked, case))
