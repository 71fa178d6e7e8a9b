"""Selecting half of the rows of a feature matrix, by a boolean mask or by node indices in random order.

Training splits, mini-batches and pooling select rows in each step. Selecting copies the rows, so it is
memory-bound. PyG 2.5 made selection by a mask faster.
"""

import pytest


@pytest.mark.operations("mask_select", "index_select")
def test_select(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.features())
