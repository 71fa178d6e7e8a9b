"""MH-Aug's loop (Park et al., NeurIPS 2021), in the variant that MHAUG_VARIANT names: `optimised` by default.

pytest examples/mhaug/test_mhaug.py --gnn-dataset cora
gnnbench ab env:MHAUG_VARIANT=published env:MHAUG_VARIANT=optimised -- examples/mhaug/test_mhaug.py
"""

import os

import pytest

VARIANT = os.environ.get("MHAUG_VARIANT", "optimised")
PLATFORMS = ["pyg", "sparse", "torch", "dgl"]


@pytest.fixture
def workloads(case):
    """Return the module that prepares the timed functions; skip what the variant does not support."""
    from mhaug import workloads

    if VARIANT not in workloads.PLATFORMS:
        pytest.fail(f"MHAUG_VARIANT={VARIANT}: choose from {', '.join(workloads.PLATFORMS)}", pytrace=False)
    if case.spec.platform not in (known := workloads.PLATFORMS[VARIANT]):
        pytest.skip(f"the {VARIANT} loop uses {' or '.join(known)}")
    if case.spec.dtype not in ("float32", "float64"):
        pytest.skip("the loop is written for float32 and float64")
    if case.graph.relations:
        pytest.skip("the loop needs a graph without relations, in which two nodes have one edge at most")
    return workloads


@pytest.mark.operations("mh_augment", platforms=PLATFORMS)
def test_augment(case, measure, workloads):
    """Edges are dropped, the features of nodes are zeroed, and the rest is scaled.

    The profiled variant builds a graph and copies all features; the optimised one makes two masks.
    """
    from mhaug import reference

    run, inputs = workloads.augment(case, VARIANT)
    measure(run, *inputs, reference=reference.augment)


@pytest.mark.operations("mh_proposal", platforms=PLATFORMS)
def test_proposal(case, measure, workloads):
    """Draw, augment, aggregate, densities and decision; no forward pass or training of the model."""
    from mhaug import reference

    run, inputs = workloads.proposal(case, VARIANT)
    measure(run, *inputs, reference=reference.proposal)


@pytest.mark.operations("mh_train", platforms=["torch", "dgl"], directions=["step"])
def test_train(case, measure, workloads):
    """An accepted proposal and its training step, which is the same in all variants."""
    from mhaug import reference

    run, inputs = workloads.train(case, VARIANT)
    measure(run, *inputs, reference=reference.loss)
