"""4,096 random pairs of nodes without an edge between them: negative examples for link prediction.

Training samples them for each batch or epoch. PyG samples pairs with Python's `random`, and uses NumPy to
find the edges among them. DGL does both in one call.
"""

from functools import partial

import pytest


@pytest.mark.operations("negative_sampling")
def test_negative_sampling(case, kernel, measure):
    """Each call samples the same pairs."""
    from gnnbench.suite.operations.negative_sampling import check

    measure(kernel.run, kernel.build(case), result=partial(check, case))
