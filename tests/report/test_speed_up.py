from dataclasses import replace

from gnnbench.report import speed_up
from gnnbench.report.table import TableRow
from gnnbench.workloads.spec import Spec

SPEC = Spec("spmm_sum_1_thread", "forward", "torch", "float32", "int64", "cora", 256, "cpu")
ONE = TableRow(SPEC, 9e-3, "1.2%", "precision", 0.52, 3 * 2**20, 12, 3)


def row(operation, seconds, **changes):
    return replace(ONE, spec=replace(SPEC, operation=operation, **changes), seconds=seconds)


def test_a_line_for_each_operation_has_every_platform():
    rows = [
        ONE,
        row("spmm_sum_1_thread", 8e-3, platform="dgl"),
        row("spmm_sum_2_threads", 5e-3),
        row("spmm_sum_2_threads", 4e-3, platform="dgl"),
        row("spmm_sum_all_threads", 3e-3),
        row("edge_softmax_1_thread", 1e-3, direction="forward_backward"),
        row("edge_softmax_all_threads", 2e-3, direction="forward_backward"),
        row("gather_scatter_sum", 1.0),
    ]
    assert speed_up.lines(rows, 4) == [
        "speed-up over 1 thread, spmm_sum fwd: torch 1.80x with 2, 3.00x with all 4; dgl 2.00x with 2",
        "speed-up over 1 thread, edge_softmax f+b: torch 0.50x with all 4",
    ]


def test_graphs_and_types_are_named_where_there_are_several():
    rows = [ONE, row("spmm_sum_2_threads", 3e-3)]
    rows += [replace(one, spec=replace(one.spec, dataset="rmat:14"), seconds=1e-3) for one in rows]
    assert speed_up.lines(rows, 2) == [
        "speed-up over 1 thread, spmm_sum fwd (cora, hidden 256, float32, int64, cpu): torch 3.00x with 2",
        "speed-up over 1 thread, spmm_sum fwd (rmat:14, hidden 256, float32, int64, cpu): torch 1.00x with 2",
    ]


def test_without_one_thread_or_without_more_there_is_no_line():
    assert speed_up.lines([ONE], 2) == []
    assert speed_up.lines([row("spmm_sum_2_threads", 1.0), row("spmm_sum_all_threads", 1.0)], 2) == []
