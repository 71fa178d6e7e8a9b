"""What the checks of operations on relations must find, and on which graphs they run."""

import pytest
import torch

from gnnbench.workloads import platforms
from gnnbench.workloads.graphs.relation import reverses
from gnnbench.workloads.operations import OPERATIONS
from gnnbench.workloads.verify import MismatchError, verify
from tests.workloads.test_operations import workload_of

RELATIONAL = [name for name, operation in OPERATIONS.items() if operation.relational]


@pytest.fixture
def check(make_case):
    """Verify an operation after a change to its structure."""

    def check(operation, platform, change):
        case = make_case(operation, platform, hidden=16)
        module = platforms.load(platform)
        run, (structure, *inputs), result = workload_of(case, module)
        reference = OPERATIONS[operation].reference
        verify(case, module, run, (change(case.graph, structure), *inputs), reference, result=result)

    return check


def as_it_is(_graph, edges):
    return edges


def with_the_reverse_relations(graph, edges):
    return edges._replace(edge_type=torch.tensor(reverses(graph.relations))[edges.edge_type])


def without_a_relation(_graph, edges):
    kept = edges.edge_type != 3
    return edges._replace(graph=edges.graph[:, kept], edge_type=edges.edge_type[kept])


def with_relations_as_one(_graph, edges):
    return edges._replace(edge_type=torch.zeros_like(edges.edge_type))


def with_sums(_graph, edges):
    return edges._replace(norm=torch.ones_like(edges.norm))


def with_means_over_all_relations(graph, edges):
    degree = graph.edge_index[1].bincount(minlength=graph.num_nodes)
    target = edges.graph.edges()[1]
    return edges._replace(norm=degree[target].float().reciprocal().unsqueeze(1))


@pytest.mark.parametrize(
    ("operation", "platform", "change"),
    [
        *(
            (operation, "pyg", change)
            for operation in ("rgcn_conv", "rgcn_conv_fast")
            for change in (with_the_reverse_relations, without_a_relation, with_relations_as_one)
        ),
        ("rgcn_conv", "dgl", with_the_reverse_relations),
        ("rgcn_conv", "dgl", with_sums),
        ("rgcn_conv", "dgl", with_means_over_all_relations),
    ],
)
def test_a_wrong_relational_convolution_is_found(check, operation, platform, change):
    check(operation, platform, as_it_is)
    with pytest.raises(MismatchError):
        check(operation, platform, change)


def with_a_relation_backwards(_graph, typed):
    extends = list(typed.graph)[1]
    return typed._replace(graph={**typed.graph, extends: typed.graph[extends].flip(0)})


def with_two_relations_exchanged(_graph, typed):
    cites, extends = list(typed.graph)[:2]
    exchanged = {cites: typed.graph[extends], extends: typed.graph[cites]}
    return typed._replace(graph={**typed.graph, **exchanged})


def with_the_types_in_another_order(_graph, typed):
    return typed._replace(sizes={name: typed.sizes[name] for name in reversed(typed.sizes)})


@pytest.mark.parametrize(
    "change", [with_a_relation_backwards, with_two_relations_exchanged, with_the_types_in_another_order]
)
def test_a_wrong_heterogeneous_convolution_is_found(check, change):
    check("hetero_conv", "pyg", as_it_is)
    with pytest.raises(MismatchError):
        check("hetero_conv", "pyg", change)


def with_one_relation_fewer(_graph, typed):
    from gnnbench.workloads.platforms.dgl import dgl

    kept = [relation for relation in typed.graph.canonical_etypes if relation[1] != "extends"]
    return typed._replace(graph=dgl.edge_type_subgraph(typed.graph, kept))


@pytest.mark.parametrize("platform", ["dgl"])
@pytest.mark.parametrize("operation", ["hetero_update_all", "hetero_multi_update_all"])
def test_sums_without_a_relation_are_found(check, operation, platform):
    check(operation, platform, as_it_is)
    with pytest.raises(MismatchError):
        check(operation, platform, with_one_relation_fewer)


@pytest.mark.parametrize("name", RELATIONAL)
def test_an_operation_with_relations_names_the_graphs_that_have_some(name, small_graph, typed_graph):
    operation = OPERATIONS[name]
    assert operation.graphs
    assert operation.why_not_on(typed_graph) is None
    reason = operation.why_not_on(small_graph)
    assert reason == f"small has one relation: use --gnn-dataset {' or '.join(operation.graphs)}"
    assert "\n" not in reason


def test_mhaug_takes_no_graph_whose_nodes_have_several_relations(small_graph, typed_graph):
    operation = OPERATIONS["mh_train_optimised"]
    assert operation.why_not_on(small_graph) is None
    assert "nodes of typed have several relations" in operation.why_not_on(typed_graph)
    assert not typed_graph.is_simple
