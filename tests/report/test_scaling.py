from dataclasses import replace

import pytest

from gnnbench.suite.operations.neighbor_loader import BATCHES
from gnnbench.suite.spec import Spec
from gnnbench.suite.table import TableRow, scaling

SPEC = Spec("spmm_sum_1_thread", "forward", "torch", "float32", "int64", "cora", 256, "cpu")
SPEED_UP = "speed-up over 1 thread"
BATCHES_A_SECOND = "batches a second, neighbor_loader"
SEVERAL = (
    "(cora, hidden 256, float32, int64, cpu): torch",
    "(rmat:14, hidden 256, float32, int64, cpu): torch",
)


def row(operation, seconds, **changes):
    return TableRow(replace(SPEC, operation=operation, **changes), seconds, *[None] * 6)


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        (
            [
                row("spmm_sum_1_thread", 9e-3),
                row("spmm_sum_1_thread", 8e-3, platform="dgl"),
                row("spmm_sum_2_threads", 5e-3),
                row("spmm_sum_2_threads", 4e-3, platform="dgl"),
                row("spmm_sum_all_threads", 3e-3),
                row("edge_softmax_1_thread", 1e-3, direction="forward_backward"),
                row("edge_softmax_all_threads", 2e-3, direction="forward_backward"),
                row("gather_scatter_sum", 1.0),
                row("gcn_inference", 2e-3, platform="compiled"),
                row("gcn_inference_1_thread", 3e-3, platform="compiled"),
            ],
            [
                f"{SPEED_UP}, spmm_sum fwd: torch 1.80x with 2, 3.00x with all 4; dgl 2.00x with 2",
                f"{SPEED_UP}, edge_softmax f+b: torch 0.50x with all 4",
                f"{SPEED_UP}, gcn_inference fwd: compiled 1.50x with all 4",
            ],
        ),
        (
            [
                row("spmm_sum_1_thread", 9e-3),
                row("spmm_sum_2_threads", 3e-3),
                row("spmm_sum_1_thread", 1e-3, dataset="rmat:14"),
                row("spmm_sum_2_threads", 1e-3, dataset="rmat:14"),
            ],
            [
                f"{SPEED_UP}, spmm_sum fwd {SEVERAL[0]} 3.00x with 2",
                f"{SPEED_UP}, spmm_sum fwd {SEVERAL[1]} 1.00x with 2",
            ],
        ),
        ([row("spmm_sum_1_thread", 1.0)], []),
        ([row("spmm_sum_2_threads", 1.0), row("spmm_sum_all_threads", 1.0), row("spmm_sum", 1.0)], []),
        (
            [
                row("neighbor_loader_0_workers", BATCHES / 50),
                row("neighbor_loader_2_workers", BATCHES / 81),
                row("neighbor_loader_2_workers", BATCHES / 7, platform="dgl"),
                row("neighbor_loader_first_2_workers", 0.3),
                row("of_ones_own_2_workers", 1.0),
            ],
            [
                f"{BATCHES_A_SECOND}: torch 50 with 0 workers, 81 with 2 workers; dgl 7 with 2 workers",
                "time to the first batch, neighbor_loader: torch 300 ms with 2 workers",
            ],
        ),
    ],
    ids=["threads", "graphs", "only one", "without one", "workers"],
)
def test_operations_are_compared_by_threads_and_loaders_have_batches_a_second(rows, lines):
    """Graphs and types are named where there are several."""
    assert scaling(rows, 4) == lines
