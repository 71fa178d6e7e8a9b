"""AGGNet's aggregate, two hops of one column: found to be the bottleneck of Metropolis-Hastings augmentation.

One column leaves the machine idle: the cost is the launch of the kernels and the structure's memory traffic.
The augmentation loop calls it four times for each proposal.
"""

import pytest


@pytest.mark.operations("aggregate")
def test_aggregate(case, kernel, measure, reference):
    measure(kernel.run, kernel.build(case), case.features(1), reference=reference.aggregate_two_hops)
