"""Selecting half of the rows of a feature matrix, by a boolean mask and by node numbers in random order.

Training splits, mini-batches and pooling select rows in each step. The selection is a copy, so memory bounds
it. PyG 2.5 made its selection by a mask faster.
"""

import pytest


@pytest.mark.operations("mask_select", "index_select")
def test_select(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.features())
