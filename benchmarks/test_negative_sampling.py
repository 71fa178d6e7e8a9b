"""4,096 pairs of nodes between which there is no edge, as negative examples of link prediction.

Training draws them for each batch or epoch. PyG draws with Python's random numbers and looks for the edges
among them with NumPy; DGL draws and looks in one call.
"""

from functools import partial

import pytest


@pytest.mark.operations("negative_sampling")
def test_negative_sampling(case, kernel, measure):
    """Each call draws the same pairs."""
    from gnnbench.suite.operations.negative_sampling import check

    measure(kernel.run, kernel.build(case), result=partial(check, case))
