"""MH-Aug's loop (Park et al., NeurIPS 2021): one whole proposal, and one accepted step, by variant.

docs/experiments/mh-aug.md tells how it got from the profiled form to the compiled one.
"""

import pytest

VARIANTS = ("published", "profiled", "optimised", "compiled")


@pytest.mark.operations(*(f"mh_proposal_{variant}" for variant in VARIANTS))
def test_mh_proposal(case, measure):
    """Draw, augment, aggregate, densities, decision: all but the model's forward pass and its training."""
    from gnnbench.workloads.mhaug import workloads

    run, inputs = workloads.proposal(case)
    measure(run, *inputs)


@pytest.mark.operations(*(f"mh_train_{variant}" for variant in VARIANTS))
def test_mh_train(case, measure):
    """A proposal that is accepted and the step on it: pytest-benchmark's column `ops` is steps per second."""
    from gnnbench.workloads.mhaug import workloads

    if case.graph.y.is_floating_point():
        pytest.skip("MH-Aug's loss is of one class per node")
    run, inputs = workloads.train(case)
    measure(run, *inputs)
