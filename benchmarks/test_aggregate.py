"""AGGNet's aggregate: sums of one column over several hops, the bottleneck of MH-Aug (Park et al., 2021).

A single column uses little of the machine: kernel launches and reads of the graph take most of the time.
MH-Aug aggregates five times per proposal. examples/mhaug sends two columns through one product per hop.
"""

import pytest


@pytest.mark.operations("aggregate")  # suite/operations/mh_aggregate.py
def test_aggregate(case, kernel, measure):
    """Two hops, as in the published algorithm."""
    measure(kernel.run, kernel.build(case), case.features(1))


# suite/operations/mh_aggregate.py
@pytest.mark.operations("aggregate_one_hop", "aggregate_three_hops", "aggregate_four_hops")
def test_hops(case, kernel, measure):
    """One, three and four hops: the cost of each further hop."""
    measure(kernel.run, kernel.build(case), case.features(1))


@pytest.mark.operations("mh_aggregate")
def test_both_columns(case, kernel, measure):
    """Two columns at once: ones over the kept edges, and a mask of the kept nodes over all edges."""
    from gnnbench.suite.operations.mh_aggregate import kept

    measure(kernel.run, kernel.build(case), *(each.to(case.device) for each in kept(case.graph)))
