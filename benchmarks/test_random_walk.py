"""Random walks of ten steps from 1,024 nodes, to any neighbour.

Embeddings, GraphSAINT and PinSage walk before they train. A step is a read of memory at a random place, so
its time depends on the caches.
"""

from functools import partial

import pytest


@pytest.mark.operations("random_walk")
def test_random_walk(case, kernel, measure):
    """Each call takes the same walks."""
    from gnnbench.suite.operations.random_walk import check

    measure(kernel.run, kernel.build(case), result=partial(check, case))
