"""Joining 256 small graphs into one batch, as each training step on molecules does.

Joining runs Python code for each field of each graph, so it shows slower `Data` and `Batch` classes rather
than slower kernels. Sparse matrices as fields once made PyG's training three times slower (pyg#8664).
"""

import pytest


@pytest.mark.operations("batch", "batch_csr")
def test_batch(case, kernel, measure):
    measure(kernel.run, kernel.build(case), result=kernel.result)
