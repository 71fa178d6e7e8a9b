"""Message passing on a graph with several types of nodes and edges, such as papers and their authors.

Each relation takes its own call, and the results are summed, so the overhead grows with the number of
relations. Both DGL functions that sum over all relations once leaked a gigabyte per epoch (dgl#3365).
"""

import pytest


@pytest.mark.operations("hetero_conv")
def test_hetero_conv(case, kernel, measure):
    from gnnbench.suite.operations.hetero import layer

    measure(kernel.run, kernel.build(case), layer(case), case.features())


@pytest.mark.operations("hetero_update_all", "hetero_multi_update_all")
def test_hetero_update_all(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.features())
