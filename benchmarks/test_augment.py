"""The augmentation of a graph in MH-Aug: edges dropped, features of nodes zeroed and the rest scaled.

As it was profiled it builds a graph and copies all features for each proposal, most of which are rejected;
optimised it makes two masks.
"""

import pytest


@pytest.mark.operations("mh_augment_profiled", "mh_augment_optimised")
def test_augment(case, measure):
    from gnnbench.workloads.mhaug import workloads

    run, inputs = workloads.augment(case)
    measure(run, *inputs)
