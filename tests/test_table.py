import io
from dataclasses import replace

from rich.console import Console

from gnnbench.spec import Spec
from gnnbench.table import Timing, heading, tables

SPEC = Spec("spmm_sum", "forward", "pyg", "float32", "int64", "cora", 256, "cpu")


def render(*timings, color=False):
    file = io.StringIO()
    (table,) = tables(timings).values()
    Console(file=file, width=120, highlight=False, force_terminal=color).print(table)
    return file.getvalue()


def test_platforms_side_by_side_in_their_order():
    head, first, second = render(
        Timing(replace(SPEC, platform="dgl"), 2e-3),
        Timing(SPEC, 1e-3),
        Timing(replace(SPEC, operation="conv", direction="forward_backward"), 5e-6),
    ).splitlines()
    assert head.split() == ["median", "time", "pyg", "dgl"]
    assert first.split() == ["spmm_sum", "fwd", "1.00", "ms", "2.00", "ms"]
    assert second.split() == ["conv", "fwd+bwd", "5.00", "µs"]


def test_one_table_for_each_graph_width_and_type():
    specs = [SPEC, replace(SPEC, hidden=64), replace(SPEC, dtype="bfloat16"), replace(SPEC, dataset="pubmed")]
    found = tables(Timing(spec, 1.0) for spec in (*specs, *specs))
    assert list(found) == [heading(spec) for spec in specs]
    assert heading(SPEC) == "cora · hidden 256 · float32 · int64 · cpu"


def test_fastest_is_bold_where_there_is_a_choice():
    fastest, slower = Timing(SPEC, 1e-3), Timing(replace(SPEC, platform="torch"), 3e-3)
    assert "\x1b[1m1.00 ms\x1b[0m" in render(fastest, slower, color=True)
    assert "\x1b[1m3.00 ms\x1b[0m" not in render(fastest, slower, color=True)
    assert "\x1b[1m1.00 ms\x1b[0m" not in render(fastest, color=True)


def test_a_name_with_brackets_is_shown_as_it_is():
    assert "mine[red]" in render(Timing(replace(SPEC, operation="mine[red]"), 1.0))


def test_nothing_timed_is_no_table():
    assert tables([]) == {}
