"""The degree of each node, which normalisation and PNA's scalers compute in every call.

PyG and torch count occurrences in an index, torch_sparse sums the values of each row, and DGL subtracts row
pointers. On a GPU, counting uses atomic additions: threads wait for each other at nodes of high degree.
"""

import pytest


@pytest.mark.operations("degree")  # suite/operations/scatter.py
def test_degree(case, kernel, measure):
    measure(kernel.run, kernel.build(case))
