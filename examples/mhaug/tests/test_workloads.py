"""What the suite times of the chain."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from mhaug import chain, compiled, optimised, workloads
from mhaug.settings import Settings

from gnnbench.engine.ground.packages import missing
from gnnbench.engine.measure.counters import count
from gnnbench.suite.operations.mh_aggregate import Edges
from gnnbench.suite.platforms import PLATFORMS, why_not_on
from tests.runs import SHORT, SMALL, run_kernels
from tests.sampling import nightly

READS = {
    ("published", "torch"): 2,
    ("profiled", "dgl"): 20,
    ("optimised", "pyg"): 0,
    ("optimised", "sparse"): 0,
    ("optimised", "torch"): 0,
    ("optimised", "dgl"): 0,
    ("compiled", "torch"): 0,
}
"""Host reads of a proposal, but for that of the decision. What `tolist` reads is seen on a GPU only."""


@pytest.mark.parametrize(
    ("variant", "platform"), [nightly(pytest.param(*one)) if one[0] == "compiled" else one for one in READS]
)
def test_the_example_is_accepted_and_the_host_reads_nothing_but_the_decision(make_case, variant, platform):
    run, inputs = workloads.proposal(make_case("mh_proposal", platform), variant)
    propose, state, draws, h = inputs
    assert state.dropped.tolist() == pytest.approx(workloads.DROPPED, abs=0.02)
    assert propose(state, draws, h).accepted
    run(*inputs)
    found = count(lambda: run(*inputs), "cpu")
    assert found.host_reads == READS[variant, platform]
    assert found.unsteady == ()
    expected = {"graphs": 1, "recompilations": 0} if variant == "compiled" else {}
    assert found.counts["compilation"] == expected, "the step is one graph, and stays compiled"


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("variant", "timed"), [("published", 3), ("profiled", 3), ("optimised", 8), ("compiled", 3)]
)
def test_each_variant_of_mh_aug_is_checked_and_timed(variant, timed):
    if missing(("dgl",)):
        pytest.skip("counts DGL's benchmarks")
    timed += 2 * (variant == "optimised" and not missing(PLATFORMS["sparse"].packages))
    result = run_kernels("examples/mhaug/test_mhaug.py", *SMALL, *SHORT, MHAUG_VARIANT=variant)
    assert result.returncode == 0, result.stdout
    assert f"{timed} benchmarks checked against the reference, {timed} timed" in result.stdout


@pytest.mark.usefixtures("without_back_end")
def test_graphs_of_many_sizes_compile(monkeypatch):
    """More sizes than torch.compile allows by default, which is made one, so that it takes less time."""
    monkeypatch.setattr(compiled, "propose", cache(compiled.propose.__wrapped__))
    with torch._dynamo.config.patch(recompile_limit=1):
        for nodes in (5, 6):
            edges = chain.edges_of(torch.tensor([[0, 1], [1, 0]]), nodes)
            state, propose = workloads.prepare("compiled", "torch", edges, torch.ones(nodes, 1), Settings())
            draws = chain.draw(edges, torch.Generator().manual_seed(0))
            h = torch.zeros(nodes)
            assert propose(state, draws, h).state.kept_nodes.shape == (nodes,)


def test_drawing_a_network_leaves_the_users_random_numbers_alone(small_graph, monkeypatch):
    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda _: pytest.fail("the GPU's are the user's"))
    before = torch.random.get_rng_state()
    first, second = (workloads.network(small_graph, 8).weights[0] for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(before, torch.random.get_rng_state())


def test_before_torch_2_13_no_number_of_sizes_is_given(monkeypatch):
    """Its torch.compile has no such parameter."""
    given = []

    def compile_of_2_11(model, *, fullgraph, dynamic, options):
        given.append((fullgraph, dynamic, bool(options)))
        return model

    monkeypatch.setattr(torch, "compile", compile_of_2_11)
    assert compiled.propose.__wrapped__() is optimised.propose
    assert given == [(True, False, True)]


def test_nothing_is_made_on_another_device_and_the_host_reads_nothing():
    """On the device `meta`, which takes no tensors of the processor, as a GPU, and has nothing to read."""
    source, target, edge_rank = torch.empty(3, 4, dtype=torch.int64, device="meta").unbind()
    node_rank = torch.empty(3, dtype=torch.int64, device="meta")
    uniform, accept = (torch.empty(count, dtype=torch.float64, device="meta") for count in (2, 1))
    edges = Edges(source, target, 3)
    state, propose = workloads.prepare("optimised", "pyg", edges, torch.empty(3, 1), Settings())
    draws = chain.Draws(uniform, edge_rank, node_rank, accept)
    found = propose(state, draws, torch.empty(3, device="meta"))
    assert {each.device.type for each in (found.log_target, *found.state[:4])} == {"meta"}
    with pytest.raises(RuntimeError, match="meta"):
        bool(found.accepted)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(("variant", "platform"), READS)
def test_a_gpu_proposes_what_the_processor_does(make_case, variant, platform):
    if reason := why_not_on(platform, "cuda"):
        pytest.skip(reason)
    case = make_case("mh_proposal", platform)
    there = replace(case, spec=replace(case.spec, device="cuda"))
    found = []
    for each in (case, there):
        run, inputs = workloads.proposal(each, variant)
        found.append(run(*inputs).cpu())
    torch.testing.assert_close(found[0], found[1], rtol=1e-5, atol=1e-5)
    run, inputs = workloads.proposal(there, variant)
    counted = count(lambda: run(*inputs), "cuda")
    reads = counted.host_reads
    assert reads >= READS[variant, platform] if variant in ("published", "profiled") else reads == 0
    assert counted.unsteady == ()
