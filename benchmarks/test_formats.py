"""Conversions between sparse formats: a shuffled edge list to CSR and CSC, CSR to COO and to its transpose.

Libraries convert when a kernel needs another format, and the backward pass needs the transpose. They cache
the result if they can; the inputs here have no cached one.
"""

import pytest


@pytest.mark.operations("to_csr", "to_csc", "to_coo")
def test_conversion(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.edge_weight(), result=kernel.result)


@pytest.mark.operations("transpose")
def test_transpose(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.edge_weight(), result=kernel.result)
