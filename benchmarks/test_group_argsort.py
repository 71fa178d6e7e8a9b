"""The rank of each edge among the edges of its node, as needed for top-k neighbours or ordered events.

PyG sorts all edges at once by value + 2 * node index, with values scaled to the range from 0 to 1. At large
indices, float32 rounds away small differences between these sums, so arbitrary values could get wrong ranks.
Therefore the values here are -1, 0 and 1, and the sort is stable.
"""

import pytest


@pytest.mark.operations("group_argsort")  # suite/operations/scatter.py
def test_group_argsort(case, kernel, measure):
    from gnnbench.suite.inputs import pattern

    values = (pattern(case.graph.num_edges, 1).squeeze(1) * 0.8).round()
    measure(kernel.run, kernel.build(case), case.tensor(values))
