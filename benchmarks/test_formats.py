"""Conversions between sparse formats: a shuffled edge list to CSR and to CSC; CSR to COO and transposed.

Libraries convert a graph when a kernel needs another format, and the backward pass needs the transpose. They
cache the conversion if they can; here, nothing is cached beforehand.
"""

import pytest


@pytest.mark.operations("to_csr", "to_csc", "to_coo")
def test_conversion(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.edge_weight(), result=kernel.result)


@pytest.mark.operations("transpose")
def test_transpose(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.edge_weight(), result=kernel.result)
