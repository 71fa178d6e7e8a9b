from dataclasses import replace

from gnnbench.report import throughput
from gnnbench.report.table import TableRow
from gnnbench.workloads.operations.neighbor_loader import BATCHES
from gnnbench.workloads.spec import Spec

SPEC = Spec("neighbor_loader_0_workers", "forward", "pyg", "float32", "int64", "cora", 256, "cpu")
ONE = TableRow(SPEC, BATCHES / 50, "1.2%", "time", None, None, None, None)


def row(operation, seconds, **changes):
    return replace(ONE, spec=replace(SPEC, operation=operation, **changes), seconds=seconds)


def test_loaders_have_batches_a_second_and_the_first_batch_apart():
    rows = [
        ONE,
        row("neighbor_loader_2_workers", BATCHES / 81.25),
        row("neighbor_loader_2_workers", BATCHES / 7, platform="dgl"),
        row("neighbor_loader_first_2_workers", 0.3),
        row("spmm_sum_2_threads", 1.0),
        row("of_ones_own_2_workers", 1.0),
    ]
    assert throughput.lines(rows) == [
        "batches a second, neighbor_loader: pyg 50 with 0 workers, 81.2 with 2 workers; dgl 7 with 2 workers",
        "time to the first batch, neighbor_loader: pyg 300 ms with 2 workers",
    ]


def test_graphs_are_named_where_there_are_several():
    rows = [ONE, row("neighbor_loader_0_workers", BATCHES / 5, dataset="rmat:14")]
    assert throughput.lines(rows) == [
        "batches a second, neighbor_loader (cora, hidden 256, float32, int64, cpu): pyg 50 with 0 workers",
        "batches a second, neighbor_loader (rmat:14, hidden 256, float32, int64, cpu): pyg 5 with 0 workers",
    ]


def test_without_a_loader_there_is_no_line():
    assert throughput.lines([row("spmm_sum", 1.0)]) == []
