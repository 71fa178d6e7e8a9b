"""Uniform random walks of ten steps from 1,024 nodes.

Methods such as DeepWalk, GraphSAINT and PinSage walk before they train. Each step reads memory at a random
address, so its time depends on the caches.
"""

from functools import partial

import pytest


@pytest.mark.operations("random_walk")
def test_random_walk(case, kernel, measure):
    """Each call takes the same walks."""
    from gnnbench.suite.operations.random_walk import check

    measure(kernel.run, kernel.build(case), result=partial(check, case))
