"""Adding self-loops: in PyG's GCNConv it runs in every forward pass unless the result is cached.

On Cora it was the largest single line of PyG's profile (1.25 s of 4.04 s in 100 epochs), more than the
backward pass: almost no arithmetic, much allocation and masking.
"""

import pytest


@pytest.mark.operations("add_remaining_self_loops")
def test_self_loops(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.edge_weight())
