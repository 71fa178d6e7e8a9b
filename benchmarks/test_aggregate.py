"""AGGNet's aggregate, hops of one column: found to be the bottleneck of Metropolis-Hastings augmentation.

One column leaves the machine idle: the cost is the launch of the kernels and the structure's memory traffic.
The augmentation loop as it was profiled calls it five times for each proposal; optimised, both columns go
through one product per hop.
"""

import pytest


@pytest.mark.operations("aggregate")
def test_aggregate(case, kernel, measure):
    """Two hops, as the published algorithm has them."""
    measure(kernel.run, kernel.build(case), case.features(1))


@pytest.mark.operations("aggregate_one_hop", "aggregate_three_hops", "aggregate_four_hops")
def test_hops(case, kernel, measure):
    """What another hop costs."""
    measure(kernel.run, kernel.build(case), case.features(1))


@pytest.mark.operations("mh_aggregate", "mh_aggregate_compiled")
def test_both_columns(case, measure):
    """Ones over the edges that are kept, and the nodes that are kept over all edges."""
    from gnnbench.workloads.mhaug import workloads

    run, inputs = workloads.aggregate(case)
    measure(run, *inputs)
