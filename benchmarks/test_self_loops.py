"""Adding self-loops, as PyG's GCNConv does in every forward pass unless its normalisation is cached.

On Cora this was the slowest line of PyG's profile (1.25 s of 4.04 s in 100 epochs), slower than the backward
pass. It does almost no arithmetic, but it allocates many tensors and applies several masks.
"""

import pytest


@pytest.mark.operations("add_remaining_self_loops")  # suite/operations/gcn_norm.py
def test_self_loops(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.edge_weight())
