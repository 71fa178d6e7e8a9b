from collections import Counter
from types import SimpleNamespace

import pytest
import torch

from gnnbench.apps.regret.families import FAMILIES, Csr, family_of, structure_kind
from gnnbench.suite.operations import OPERATIONS
from gnnbench.suite.operations.scatter import Destination, offsets, unsorted_index
from gnnbench.suite.platforms import Edges

EDGES = torch.tensor([[0, 1, 1], [1, 0, 2]])
ROWS = torch.tensor([0, 1, 2, 3, 3])


def test_names_of_ways_are_distinct_and_calls_come_first():
    for family in FAMILIES:
        ways = list(family.implementations())
        assert max(Counter(way.id for way in ways).values()) == 1
        assert len(ways) > 1
        assert [way.is_call for way in ways] == sorted((way.is_call for way in ways), reverse=True)
        assert {way.operation.name for way in ways if not way.is_call} <= {family.operations[0]}
        assert not set(family.excluded) & {way.id for way in ways}


def test_what_a_family_leaves_out_is_a_call_of_it():
    for family in FAMILIES:
        calls = {f"{name} on {platform}" for name in family.operations for platform in OPERATIONS[name].calls}
        assert set(family.excluded) <= calls


def test_operations_of_a_family_have_the_same_directions_and_each_has_one_family():
    for family in FAMILIES:
        assert len({OPERATIONS[name].directions for name in family.operations}) == 1
        assert all(family_of(name) is family for name in family.operations)
    names = [name for family in FAMILIES for name in family.operations]
    assert len(names) == len(set(names))
    assert family_of("gcn_norm") is None


def test_inputs_have_the_width_of_features_where_the_family_says_so(make_case):
    for family in FAMILIES:
        one, two = (
            family.inputs(make_case(family.operations[0], "torch", hidden=width)) for width in (8, 16)
        )
        shapes = [[part.shape for part in parts] for parts in (one, two)]
        assert (shapes[0] != shapes[1]) == family.has_features, family.operations[0]


@pytest.mark.parametrize(
    ("structure", "kind"),
    [
        (EDGES, "edge list"),
        (Edges(EDGES, 4), "edge list"),
        ((EDGES, torch.ones(3)), "edge list"),
        (Destination(EDGES[0], 4), "index"),
        (EDGES[0], "index"),
        (Csr(EDGES[0], ROWS), "CSR"),
        (ROWS, "row pointer"),
        (torch.eye(3).to_sparse_csr(), "CSR"),
        (torch.eye(3).to_sparse_coo(), "COO"),
        (torch.eye(3).to_sparse_csc(), "CSC"),
        (object(), "object"),
    ],
)
@pytest.mark.filterwarnings("ignore:Sparse CS")
def test_a_structure_has_a_kind(structure, kind):
    assert structure_kind(structure, SimpleNamespace(num_edges=3)) == kind


def test_kinds_of_real_structures(make_case):
    for operation, kinds in {
        "spmm_sum": {"pyg": "CSR", "torch": "CSR", "dgl": "DGLGraph"},
        "spmm_sum_edge_index": {"pyg": "EdgeIndex"},
        "gather_scatter_sum": {"pyg": "edge list"},
    }.items():
        for platform, kind in kinds.items():
            case = make_case(operation, platform)
            structure = OPERATIONS[operation].kernel(platform).build(case)
            assert structure_kind(structure, case.graph) == kind
    case = make_case("segment_sum")
    assert structure_kind(offsets(case), case.graph) == "row pointer"
    assert structure_kind(unsorted_index(case), case.graph) == "index"
