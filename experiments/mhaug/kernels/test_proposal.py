"""A proposal and an accepted step of the variant in MHAUG_VARIANT, for `gnnbench ab`.

    gnnbench ab env:MHAUG_VARIANT=profiled env:MHAUG_VARIANT=optimised -- experiments/mhaug/kernels

Variants are those of `gnnbench.workloads.mhaug.workloads`, and `elementwise`: the profiled loop with the
port's edge list.
"""

import os
from functools import partial

import pytest

from gnnbench.files import cache_folder
from gnnbench.workloads.case import Case
from gnnbench.workloads.graphs.catalog import DatasetName
from gnnbench.workloads.graphs.load import load
from gnnbench.workloads.graphs.locate import data_folder
from gnnbench.workloads.mhaug import workloads
from gnnbench.workloads.spec import FORWARD, STEP, Spec

VARIANT = os.environ.get("MHAUG_VARIANT", "optimised")
PLATFORM = "dgl" if VARIANT in ("profiled", "elementwise") else "torch"


@pytest.fixture(scope="module", params=["cora", "ogbn-arxiv:synthetic@0.1"])
def graph(request):
    """A graph of the catalogue."""
    return load(DatasetName.parse(request.param), data_folder(), cache_folder())


def case_of(graph, step, direction):
    """Return the case with the published width, on the CPU."""
    name = f"mh_{step}_{'profiled' if VARIANT == 'elementwise' else VARIANT}"
    return Case(Spec(name, direction, PLATFORM, "float32", "int64", graph.name, 64, "cpu"), graph)


def timed(workload, benchmark):
    """Time it, with the port's edge list where the variant asks for that."""
    run, (propose, *inputs) = workload
    if VARIANT == "elementwise":
        from gnnbench.workloads.mhaug import profiled

        loop, settings, _ = propose.args
        propose = partial(propose.func, loop, settings, profiled.elementwise_edge_list)
    benchmark(run, propose, *inputs)


def test_proposal(graph, benchmark):
    """Without the model's forward pass and the training step."""
    timed(workloads.proposal(case_of(graph, "proposal", FORWARD)), benchmark)


def test_whole_step(graph, benchmark):
    """With the training step of an accepted proposal, which all variants share."""
    timed(workloads.train(case_of(graph, "train", STEP)), benchmark)
