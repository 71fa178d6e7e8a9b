"""Joining 256 small graphs into one, before each step of training on molecules.

Joining runs Python code for each graph and each field, so it shows slower containers of graphs rather than
slower kernels. Sparse matrices as fields made PyG's training three times slower (pyg#8664).
"""

import pytest


@pytest.mark.operations("batch", "batch_csr")
def test_batch(case, kernel, measure):
    measure(kernel.run, kernel.build(case), result=kernel.result)
