"""METIS divides a graph into eight parts of equal size, with few edges between them.

Cluster-GCN and training on several machines do it once before they train. It is no default benchmark: it runs
one thread for a large part of a second, and few changes reach it.
"""

from functools import partial

import pytest


@pytest.mark.operations("metis_partition")
def test_metis_partition(case, kernel, measure):
    """METIS draws random numbers of its own, which start anew in each call."""
    from gnnbench.suite.operations.saint import checked_parts

    measure(kernel.run, kernel.build(case), result=partial(checked_parts, case))
