"""AGGNet's aggregate of one column over several hops, the bottleneck of Metropolis-Hastings augmentation.

One column uses little of the machine: kernel launches and the graph's memory traffic dominate. The profiled
loop calls it five times per proposal; the optimised loop sends both columns through one product per hop.
"""

import pytest


@pytest.mark.operations("aggregate")  # suite/operations/mh_aggregate.py
def test_aggregate(case, kernel, measure):
    """Two hops, as in the published algorithm."""
    measure(kernel.run, kernel.build(case), case.features(1))


# suite/operations/mh_aggregate.py
@pytest.mark.operations("aggregate_one_hop", "aggregate_three_hops", "aggregate_four_hops")
def test_hops(case, kernel, measure):
    """The cost of another hop."""
    measure(kernel.run, kernel.build(case), case.features(1))


@pytest.mark.operations("mh_aggregate")
def test_both_columns(case, kernel, measure):
    """A column of ones over the kept edges, and the kept nodes over all edges."""
    from gnnbench.suite.operations.mh_aggregate import kept

    measure(kernel.run, kernel.build(case), *(each.to(case.device) for each in kept(case.graph)))
