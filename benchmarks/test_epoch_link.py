"""An epoch of link prediction: embeddings by GraphSAGE, all edges against as many pairs without one.

It adds two things to an epoch that classifies nodes: pairs are drawn and compared with all edges, which in
PyG runs in Python and NumPy, and each edge and pair gathers two rows of embeddings.
"""

from functools import partial

import pytest


@pytest.mark.operations("epoch_link")
def test_link(case, measure):
    """Pairs are drawn in each call, the same each time; embeddings have 64 columns."""
    from gnnbench.suite.operations import epoch_link

    measure(*epoch_link.prepare(case), result=partial(epoch_link.checked, case))
