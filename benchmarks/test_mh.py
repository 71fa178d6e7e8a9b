"""MH-Aug's loop (Park et al., NeurIPS 2021): one proposal and one accepted step, in each variant.

docs/experiments/mh-aug.md describes the steps from the profiled to the compiled variant.
"""

import pytest

VARIANTS = ("published", "profiled", "optimised", "compiled")


@pytest.mark.operations(*(f"mh_proposal_{variant}" for variant in VARIANTS))
def test_mh_proposal(case, measure):
    """Draw, augment, aggregate, densities and decision; no forward pass or training of the model."""
    from gnnbench.workloads.mhaug import workloads

    run, inputs = workloads.proposal(case)
    measure(run, *inputs)


@pytest.mark.operations(*(f"mh_train_{variant}" for variant in VARIANTS))
def test_mh_train(case, measure):
    """An accepted proposal and its training step; pytest-benchmark's column `ops` is steps per second."""
    from gnnbench.workloads.mhaug import workloads

    if case.graph.y.is_floating_point():
        pytest.skip("MH-Aug's loss is of one class per node")
    run, inputs = workloads.train(case)
    measure(run, *inputs)
