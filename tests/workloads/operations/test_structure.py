"""Operations that change a graph's form: each call does all of the work, and what the check must find."""

from dataclasses import replace

import pytest
import torch
from torch_geometric import utils

from gnnbench.workloads import platforms
from gnnbench.workloads.operations import OPERATIONS
from gnnbench.workloads.operations.subgraph import HOPS
from gnnbench.workloads.spec import FORWARD, FORWARD_BACKWARD
from gnnbench.workloads.verify import MismatchError, verify, with_backward
from tests.measure.test_copies import Names
from tests.workloads.test_operations import CELLS, check, workload_of

STRUCTURE = [
    cell
    for cell in CELLS
    if OPERATIONS[cell.values[0]].group == "structure"
    and OPERATIONS[cell.values[0]].limit(*cell.values[1:], "float32", "int64", "cpu") is None
]


@pytest.fixture(scope="module")
def directed(small_graph):
    """The small graph without a third of its entries: most edges have one direction only."""
    kept = torch.rand(small_graph.num_edges, generator=torch.Generator().manual_seed(0)) < 2 / 3
    return replace(small_graph, edge_index=small_graph.edge_index[:, kept])


@pytest.mark.parametrize(("operation", "platform", "direction"), STRUCTURE)
def test_platforms_agree_on_the_direction_of_edges(make_case, directed, operation, platform, direction):
    check(make_case(operation, platform, direction, graph=directed))


@pytest.mark.parametrize(("operation", "platform", "direction"), STRUCTURE)
def test_no_call_profits_from_an_earlier_one(make_case, operation, platform, direction):
    case = make_case(operation, platform, direction)
    run, inputs, _ = workload_of(case, platforms.load(platform))
    graph = inputs[0]
    created = graph.formats() if hasattr(graph, "formats") else None
    names = []
    for _ in range(2):
        with Names() as seen:
            run(*inputs)
        names.append(seen.names)
    assert names[0] == names[1]
    assert created is None or graph.formats() == created, "DGL kept a format that the call made"


def _scaled(edges, weight):
    """Return the right weights, with twice their gradients."""
    return utils.sort_edge_index(edges.edge_index, 2 * weight - weight.detach(), edges.num_nodes)


def _one_end(chosen, weight):
    """Keep edges whose source alone is chosen."""
    kept = torch.isin(chosen.graph.edge_index[0], chosen.nodes)
    return chosen.graph.edge_index[:, kept] % len(chosen.nodes), weight[kept]


def _k_hop(chosen, hops=HOPS, **options):
    edge_index, num_nodes = chosen.graph
    return utils.k_hop_subgraph(
        chosen.nodes, hops, edge_index, num_nodes=num_nodes, **{"relabel_nodes": True, **options}
    )


MUTANTS = {
    "duplicates kept": ("coalesce", lambda e, w: utils.sort_edge_index(e.edge_index, w, e.num_nodes)),
    "mean": ("coalesce", lambda e, w: utils.coalesce(e.edge_index, w, e.num_nodes, "mean")),
    "merged by target": (
        "coalesce",
        lambda e, w: utils.coalesce(e.edge_index, w, e.num_nodes, sort_by_row=False),
    ),
    "sorted by target": (
        "sort_edge_index",
        lambda e, w: utils.sort_edge_index(e.edge_index, w, e.num_nodes, sort_by_row=False),
    ),
    "weights left where they were": (
        "sort_edge_index",
        lambda e, w: (utils.sort_edge_index(e.edge_index, num_nodes=e.num_nodes), w),
    ),
    "gradients doubled": ("sort_edge_index", _scaled),
    "column instead of row": ("edge_index_sort_by", lambda index: index.sort_by("col")),
    "another order": (
        "edge_index_sort_by",
        lambda index: index.sort_by("row")._replace(indices=torch.arange(index.size(1))),
    ),
    "one direction": ("to_undirected", lambda e: e.edge_index),
    "not sorted": ("to_undirected", lambda e: torch.cat((e.edge_index, e.edge_index.flip(0)), dim=1)),
    "CSR of the transpose": (
        "to_csr",
        lambda e, w: utils.to_torch_csr_tensor(e.edge_index.flip(0), w, e.num_nodes),
    ),
    "CSC of sorted weights": (
        "to_csc",
        lambda e, w: utils.to_torch_csc_tensor(e.edge_index, w.sort().values, e.num_nodes),
    ),
    "old numbers": (
        "subgraph",
        lambda c, w: utils.subgraph(c.nodes, c.graph.edge_index, w, num_nodes=c.graph.num_nodes),
    ),
    "one end chosen": ("subgraph", _one_end),
    "one hop": ("k_hop_subgraph", lambda c: _k_hop(c, 1)),
    "against the edges": ("k_hop_subgraph", lambda c: _k_hop(c, flow="target_to_source")),
    "only edges on the way": ("k_hop_subgraph", lambda c: _k_hop(c, directed=True)),
    "k-hop with old numbers": ("k_hop_subgraph", lambda c: _k_hop(c, relabel_nodes=False)),
    "the other half": ("mask_select", lambda mask, x: x[~mask]),
    "ascending": ("index_select", lambda nodes, x: x[nodes.sort().values]),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_check_finds(mutant, make_case, directed):
    operation, run = MUTANTS[mutant]
    direction = FORWARD_BACKWARD if mutant == "gradients doubled" else FORWARD
    case = make_case(operation, "pyg", direction, graph=directed)
    module = platforms.load("pyg")
    right, inputs, result = workload_of(case, module)
    reference = OPERATIONS[operation].reference
    for call in (right, run):
        own = call, inputs
        if direction == FORWARD_BACKWARD:
            own = with_backward(module, call, inputs)
        if call is right:
            verify(case, module, *own, reference, result=result)
        else:
            with pytest.raises(MismatchError, match=r"wrong|shape|positions"):
                verify(case, module, *own, reference, result=result)
