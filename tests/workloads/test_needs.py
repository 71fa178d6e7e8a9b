import pytest

from gnnbench.suite import needs, roofline
from gnnbench.suite.case import Case
from gnnbench.suite.graphs import capacity
from gnnbench.suite.graphs.catalog import DatasetName
from gnnbench.suite.graphs.load import load_by_id
from gnnbench.suite.operations import OPERATIONS
from gnnbench.suite.spec import Spec

PRODUCTS = DatasetName.parse("ogbn-products:synthetic")


def spec(operation, name=PRODUCTS, direction="forward_backward", hidden=32, device="cpu"):
    return Spec(operation, direction, "pyg", "float32", "int64", name.id, hidden, device)


def refused(one, name=PRODUCTS, free=24 << 30, *, is_loaded=False):
    return needs.why_too_large(one, name, is_loaded=is_loaded, free=free)


def test_letters_bound_those_of_the_graph_itself():
    name = DatasetName.parse("rmat:8")
    one = spec("spmm_sum", name)
    known, bound = roofline._symbols(Case(one, load_by_id(name.id))), needs.symbols(one, name)
    for letter in "NELRQVTDFCPsiyp":
        assert getattr(bound, letter) >= getattr(known, letter)
    assert bound.layers == known.layers
    assert 2 * known.E > bound.E


@pytest.mark.parametrize("name", ["rmat:22", "ogbn-products:synthetic"])
@pytest.mark.parametrize(
    ("operation", "direction", "fits"),
    [
        ("spmm_sum", "forward_backward", True),
        ("gcn_norm", "forward_backward", False),
        ("edge_softmax", "forward_backward", False),
        ("epoch", "train", False),
    ],
)
def test_what_fits_in_24_gibibytes_of_the_largest_graphs_at_a_small_width(operation, direction, fits, name):
    graph, part = DatasetName.parse(name), DatasetName.parse("rmat:19")
    assert (refused(spec(operation, graph, direction), graph) is None) == fits
    assert refused(spec(operation, part, direction), part) is None


def test_what_does_not_fit_is_one_line_with_figures_and_what_to_do():
    one = spec("edge_softmax")
    found = refused(one)
    assert "\n" not in found
    assert found.startswith("edge_softmax forward_backward on ogbn-products:synthetic needs about ")
    assert ", but 24.0 GiB is free; use a fraction of it, such as ogbn-products:synthetic@0." in found
    assert "--gnn-hidden" not in found  # it has a fixed number of heads
    assert refused(one, free=1 << 40) is None
    assert refused(spec("spmm_sum", hidden=4096)).endswith(", or a smaller --gnn-hidden")


def test_a_graph_in_memory_is_not_counted_again():
    one = spec("spmm_sum")
    needed, graph = needs.call_bytes(one, PRODUCTS), capacity.resident_bytes(PRODUCTS)
    assert refused(one, free=needed, is_loaded=True) is None
    assert refused(one, free=needed)
    assert refused(one, free=needed + graph) is None


def test_what_is_unknown_is_never_refused(tmp_path):
    assert refused(spec("mine"), free=0) is refused(spec("spmm_sum", device="cuda"), free=0) is None
    file = tmp_path / "graph.mtx"
    file.write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2\n")
    name = DatasetName.parse(str(file))
    assert refused(spec("spmm_sum", name), name, free=0) is None


def test_every_operation_with_a_least_work_has_an_estimate():
    for name, operation in OPERATIONS.items():
        for direction in operation.directions:
            found = needs.call_bytes(spec(name, PRODUCTS, direction), PRODUCTS)
            assert (found is None) == (operation.least_work is None), (name, direction)
            assert found is None or found > 0, (name, direction)
