"""GraphSAINT's subgraph: the nodes of 500 random walks of two steps, and all edges among them.

Training on large graphs draws one for each step of the optimiser. Walking is quick; to cut the subgraph takes
most of the time.
"""

from functools import partial

import pytest


@pytest.mark.operations("saint_walk")
def test_saint_walk(case, kernel, measure):
    """Each call draws the same subgraph."""
    from gnnbench.suite.operations.saint import checked

    measure(kernel.run, kernel.build(case), result=partial(checked, case, kernel))
