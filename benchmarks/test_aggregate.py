"""AGGNet's aggregate of one column over several hops, the bottleneck of Metropolis-Hastings augmentation.

One column uses little of the machine: kernel launches and the graph's memory traffic dominate. The loop that
was profiled calls it five times per proposal: see examples/mhaug.
"""

import pytest


@pytest.mark.operations("aggregate")  # suite/operations/spmm.py
def test_aggregate(case, kernel, measure):
    """Two hops, as in the published algorithm."""
    measure(kernel.run, kernel.build(case), case.features(1))


# suite/operations/spmm.py
@pytest.mark.operations("aggregate_one_hop", "aggregate_three_hops", "aggregate_four_hops")
def test_hops(case, kernel, measure):
    """The cost of another hop."""
    measure(kernel.run, kernel.build(case), case.features(1))
