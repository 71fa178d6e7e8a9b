"""MH-Aug's augmentation of a graph: it drops edges, zeroes the features of nodes and scales the rest.

The profiled variant builds a graph and copies all features for each proposal, although most proposals are
rejected; the optimised variant makes two masks.
"""

import pytest


@pytest.mark.operations("mh_augment_profiled", "mh_augment_optimised")
def test_augment(case, measure):
    from gnnbench.workloads.mhaug import workloads

    run, inputs = workloads.augment(case)
    measure(run, *inputs)
