"""A sparse product and an edge softmax with one CPU thread, with two, and with all of the session's.

The speed-up is the time with one thread divided by the time with more. It shows a library that lost its
parallel loop or splits rows badly, where a time alone may look like that of a slower machine. On a machine
with two cores, two threads are all.
"""

import pytest

THREADS = ("1_thread", "2_threads", "all_threads")


@pytest.mark.operations(*(f"spmm_sum_{threads}" for threads in THREADS))
def test_spmm_sum(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.features())


@pytest.mark.operations(*(f"edge_softmax_{threads}" for threads in THREADS))
def test_edge_softmax(case, kernel, measure):
    from gnnbench.suite.operations.edge_softmax import scores

    measure(kernel.run, kernel.build(case), scores(case))
