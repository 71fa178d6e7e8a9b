"""The reductions of test_scatter.py, for messages that are sorted by node.

Each node's messages are one block of memory, so there is nothing to sort and no write conflict: the
difference from scatter_sum is the gain from sorted edges. On a GPU, segment_csr divides the nodes among
threads, so most threads idle if a few nodes have most of the edges (rusty1s/pytorch_scatter#402).
"""

import pytest


@pytest.mark.operations("segment_sum", "segment_mean", "segment_max")
def test_segment(case, kernel, measure):
    from gnnbench.suite.inputs import pattern

    messages = case.tensor(pattern(case.graph.num_edges, case.spec.hidden))
    measure(kernel.run, kernel.build(case), messages, result=kernel.result)
