"""A sparse product and an edge softmax with one CPU thread, with two, and with all of the session's.

The speed-up is the time with one thread divided by that with more. A library that lost its parallel loop, or
splits rows badly, shows in it, while its time alone may look like that of a slower machine. On a machine with
two cores, two and all are the same number.
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
