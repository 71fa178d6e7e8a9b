"""Formulas by hand; tests/workloads/moved.py compares them with what real kernels take and return."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from gnnbench.engine.ground.labels import Work
from gnnbench.suite import network
from gnnbench.suite.graphs.graph import Graph
from gnnbench.suite.operations import OPERATIONS
from gnnbench.suite.roofline import least
from gnnbench.suite.spec import AUTOCAST, FLOATS, FORWARD_BACKWARD, INTEGERS
from tests.workloads.cells import workload_of

BOTH = FORWARD_BACKWARD
DIRECTIONS = [
    (name, direction) for name, row in OPERATIONS.items() if row.least_work for direction in row.directions
]
"""Of the operations that have a model."""

MOVES_ONLY = {"add_remaining_self_loops"} | {
    name for name, row in OPERATIONS.items() if row.group == "structure" and name != "coalesce"
}
"""Operations that compute no floating-point numbers."""


def make_graph(pairs=((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (0, 6), (1, 6))):
    """A graph of nine nodes, the last two without a neighbour, three of them to train on."""
    source, target = np.array(pairs).T
    x, y = np.ones((9, 6), dtype=np.float32), np.arange(9) % 4
    split = np.array([0, 1, 2]), np.array([3]), np.array([4])
    return Graph.build("nine", source, target, x, y, 4, *split, synthetic=True)


@pytest.fixture(scope="module")
def nine():
    """N = 9, E = 16, R = 7, D = 6, C = 4, T = 3."""
    return make_graph()


def test_every_operation_and_direction_has_a_model(make_case):
    for operation, direction in DIRECTIONS:
        for dtype in set(FLOATS) - {AUTOCAST}:
            for index_dtype in INTEGERS:
                case = make_case(operation, "torch", direction, dtype, index_dtype)
                found = least(case)
                assert found.bytes > 0, case.spec.id
                assert (found.flops > 0) == (operation not in MOVES_ONLY), case.spec.id
    assert least(make_case("a_kernel_of_ones_own")) is None
    assert least(make_case(dtype=AUTOCAST)) is None


# In float32 and int64, F = 8: G(E) = 8 (10 + 16) = 208 bytes, G(L) = 8 (10 + 25) = 280, the layers
# 6 → 8 → 8 → 4 with P = 56 + 72 + 36 = 164, and K(width) = (25 + 18) width. Long sums stand as their value.
@pytest.mark.parametrize(
    ("operation", "direction", "expected"),
    [
        ("spmm_sum", "forward", Work(208 + 4 * (7 + 9) * 8, 16 * 8)),
        ("spmm_max", BOTH, Work(208 + 2 * 4 * (7 + 9) * 8, (16 + 7) * 8)),
        ("update_all_u_mul_e_sum", BOTH, Work(208 + 2 * 4 * (7 + 9) * 8 + 2 * 4 * 16, 6 * 16 * 8)),
        ("add_remaining_self_loops", "forward", Work(208 + 280 + 4 * (16 + 25), 0)),
        ("mh_aggregate", "forward", Work(208 + 25 + 4 * 2 * 9, 2 * 2 * 25)),
        ("linear", "forward", Work(4 * (9 * 6 + 6 * 8 + 9 * 8), 2 * 9 * 6 * 8)),
        ("conv", "forward", Work(208 + 4 * (9 * 8 + 64 + 8 + 9 * 8), 2 * 9 * 64 + 43 * 8 + 9 * 8)),
        ("conv_cached", BOTH, Work(2108, 4288)),
        ("epoch_backward", "backward", Work(2136, 5172)),
        ("epoch_step", "step", Work(7 * 4 * 164, 12 * 164)),
        ("scatter_sum", "forward", Work(8 * 16 + 4 * (16 + 9) * 8, 16 * 8)),
        ("degree", "forward", Work(8 * 10 + 4 * 9, 9)),
        ("coalesce", "forward", Work(2 * 8 * 16 + 8 * (10 + 12) + 4 * (16 + 12), 16)),
        ("to_csr", "forward", Work(2 * 8 * 16 + 208 + 2 * 4 * 16, 0)),
        ("mask_select", BOTH, Work(9 + 4 * (4 + 4 + 4 + 9) * 8, 0)),
        ("sddmm", BOTH, Work(208 + 4 * (2 * 7 * 8 + 16 + 2 * 9 * 8 + 16), 6 * 16 * 8)),
        ("edge_softmax", BOTH, Work(8 * 10 + 2 * 4 * 2 * 16 * 8, 7 * 16 * 8)),
        ("gat_conv", BOTH, Work(2064, 8064)),  # 8 heads of one column
        ("sage_conv", BOTH, Work(208 + 2 * 4 * (144 + 128 + 8), 2 * (16 + 7 + 9) * 8 + 3 * 2 * 16 * 64)),
        ("gin_conv", BOTH, Work(2520, 8032)),
        ("transformer_conv", BOTH, Work(3632, 14704)),
        ("message_passing", BOTH, Work(208 + 2 * 4 * ((7 + 9) * 8 + 16), 10 * 16 * 8)),
        ("epoch_gat", "train", Work(3724, 11064)),  # 8 heads of width 1, then one of width 4
    ],
)
def test_by_hand(make_case, nine, operation, direction, expected):
    assert least(make_case(operation, "torch", direction, graph=nine)) == expected


def test_tasks_take_a_byte_each_and_few_entries_are_listed_by_both_ends(make_case, nine):
    found = least(make_case("epoch_loss", graph=replace(nine, y=torch.zeros(9, 4))))
    assert found.bytes == 4 * (3 * 4 + 1) + 3 * (8 + 4)
    found = least(make_case("spmm_sum", graph=make_graph(pairs=[(0, 1)])))
    assert found.bytes == 2 * 8 * 2 + 4 * (2 + 9) * 8


@pytest.mark.parametrize("operation", ["linear", "conv_cached", "epoch_forward", "epoch"])
def test_products_of_matrices_are_those_that_torch_counts(make_case, operation):
    direction = {"epoch": "train", "epoch_forward": "forward"}.get(operation, BOTH)
    case = make_case(operation, "torch", direction, hidden=64)
    timed = workload_of(case).timed()
    with FlopCounterMode(display=False) as counter:
        timed.run(*timed.inputs)
    nodes, entries = case.graph.num_nodes, case.graph.num_edges
    widths = sum(network.widths(case.graph, 64))
    # The counter sees products of dense matrices only; the rest is linear in the graph and the parameters.
    rest = 0 if operation == "linear" else 8 * (entries + nodes) * widths + 12 * 64 * widths
    assert 0 <= least(case).flops - counter.get_total_flops() <= rest
