"""A sparse product and an edge softmax with one CPU thread, two threads, and all threads of the session.

The speed-up is the time with one thread divided by the time with more. A low speed-up shows that a library
lost its parallel loop or splits rows badly; a time alone might only mean a slower machine. On two cores,
`2_threads` and `all_threads` are the same.
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
