"""What the suite times of the chain."""

import pytest
import torch

from gnnbench.counters import count
from gnnbench.mhaug import chain, variants, workloads
from gnnbench.mhaug.settings import Settings

READS = {
    ("published", "torch"): 0,
    ("profiled", "dgl"): 19,
    ("optimised", "pyg"): 0,
    ("optimised", "sparse"): 0,
    ("optimised", "torch"): 0,
    ("optimised", "dgl"): 0,
    ("compiled", "torch"): 0,
}
"""Host reads of a proposal, but for that of the decision. What `tolist` reads is seen on a GPU only."""


@pytest.mark.parametrize(("variant", "platform"), READS)
def test_the_host_reads_nothing_but_the_decision(make_case, variant, platform):
    run, inputs = workloads.proposal(make_case(f"mh_proposal_{variant}", platform))
    run(*inputs)
    found = count(lambda: run(*inputs), "cpu")
    assert found.host_reads == READS[variant, platform]
    assert found.unsteady == ()


def test_the_compiled_step_is_one_graph_and_stays_compiled(make_case):
    run, inputs = workloads.proposal(make_case("mh_proposal_compiled", "torch"))
    run(*inputs)
    assert count(lambda: run(*inputs), "cpu").counts["compilation"] == {"graphs": 1, "recompilations": 0}


@pytest.mark.parametrize(("variant", "platform"), READS)
def test_the_example_is_accepted(make_case, variant, platform):
    _, (propose, state, draws, h) = workloads.proposal(make_case(f"mh_proposal_{variant}", platform))
    assert state.dropped.tolist() == pytest.approx(workloads.DROPPED, abs=0.02)
    assert propose(state, draws, h).accepted


def test_graphs_of_many_sizes_compile():
    for nodes in range(5, 16):
        edges = chain.edges_of(torch.tensor([[0, 1], [1, 0]]), nodes)
        state, propose = variants.prepare("compiled", "torch", edges, torch.ones(nodes, 1), Settings())
        draws = chain.draw(edges, torch.Generator().manual_seed(0))
        h = torch.zeros(nodes)
        assert propose(state, draws, h).state.kept_nodes.shape == (nodes,)
