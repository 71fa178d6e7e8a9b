import io
from dataclasses import replace

from rich.console import Console

from gnnbench.report.table import TableRow, heading, notes, tables
from gnnbench.workloads.spec import Spec

SPEC = Spec("spmm_sum", "forward", "pyg", "float32", "int64", "cora", 256, "cpu")
ROW = TableRow(SPEC, 1e-3, "1.2%", "precision", 0.52, 3 * 2**20, 12, 3)

OURS = {
    "measurement": {
        "location_ns": 1e6,
        "low_ns": 0.98e6,
        "high_ns": 1.05e6,
        "stopped_by": "time",
        "in_place": None,
        "not_copied": [],
        "changes_inputs": False,
        "others_share": None,
        "rejected_rounds": 0,
    },
    "counters": {
        "counts": {"operators": {"aten::mm": 2, "aten::add": 1}},
        "host_reads": 1,
        "details": {"memory": {"peak_bytes": 4096}},
    },
    "limit": {"fraction": 0.25, "note": ""},
}


def render(*rows, color=False, width=80):
    file = io.StringIO()
    (table,) = tables(rows).values()
    Console(file=file, width=width, highlight=False, force_terminal=color).print(table)
    return file.getvalue()


def of(spec=SPEC, **changes):
    measurement = {**OURS["measurement"], **changes}
    return TableRow.of(spec, {**OURS, "measurement": measurement})


def test_a_row_for_each_platform_under_its_operation():
    head, first, second, third = render(
        ROW,
        replace(ROW, spec=replace(SPEC, platform="dgl"), seconds=2e-3, interval="?", stopped_by="time"),
        replace(ROW, spec=replace(SPEC, operation="mine"), limit=None, peak_bytes=None),
    ).splitlines()
    assert head.split() == ["operation", "dir", "on", "time", "±", "stop", "limit", "peak", "ops", "sync"]
    rest = ["52%", "3.0", "MiB", "12", "3"]
    assert first.split() == ["spmm_sum", "fwd", "pyg", "1.00", "ms", "1.2%", "prec", *rest]
    assert second.split() == ["dgl", "2.00", "ms", "?", "time", *rest]
    assert third.split() == ["mine", "fwd", "pyg", "1.00", "ms", "1.2%", "prec", "12", "3"]


def test_the_widest_row_fits_a_terminal_of_80_columns():
    spec = replace(SPEC, operation="update_all_copy_u_mean", direction="train", platform="sparse")
    row = replace(ROW, spec=spec, limit=24.34, peak_bytes=1023 * 2**20, operators=9999, host_reads=999)
    assert all(len(line) <= 80 for line in render(row, width=200).splitlines())
    assert "1023 MiB" in render(row)


def test_a_row_is_taken_from_a_record():
    row = of()
    assert (row.seconds, row.stopped_by, row.limit, row.peak_bytes) == (1e-3, "time", 0.25, 4096)
    assert (row.operators, row.host_reads) == (3, 1)
    assert row.interval == "5.0%"
    assert row.notes == ()
    for missing in ({"low_ns": None}, {"high_ns": None}, {"low_ns": None, "high_ns": None}):
        assert of(**missing).interval == "?", "one bound alone looks better than both do"
    assert TableRow.of(SPEC, {**OURS, "limit": None}).limit is None


def test_notes_name_a_few_benchmarks_and_count_many():
    rows = [of(in_place="too large to copy"), of(replace(SPEC, platform="dgl"), in_place="too large to copy")]
    note = "inputs not copied to new memory, too large to copy"
    assert notes([*rows, of()]) == [f"{note}: spmm_sum fwd pyg, spmm_sum fwd dgl"]
    rows = [of(replace(SPEC, operation=f"own{number}"), changes_inputs=True) for number in range(9)]
    assert notes([*rows, of()]) == ["writes to its inputs, so rounds have different inputs: 9 benchmarks"]
    assert notes(rows) == ["writes to its inputs, so rounds have different inputs: all benchmarks"]
    rows = [of(not_copied=["Thing"], rejected_rounds=2, high_ns=None)]
    assert notes([of(others_share=0.04)]) == []
    (disturbed,) = notes([of(others_share=0.4)])
    assert disturbed.startswith("other programs used more than 10% of the CPU time")
    assert [line.partition(":")[0] for line in notes(rows)] == [
        "inputs not copied between blocks",
        "rounds without a positive time were excluded",
        "no interval ('?')",
    ]
    over = TableRow.of(SPEC, {**OURS, "limit": {"fraction": 1.5, "note": "in cache: little"}})
    assert notes([over]) == ["above the roofline bound: in cache: little: spmm_sum fwd pyg"]


def test_one_table_for_each_graph_width_and_type():
    specs = [SPEC, replace(SPEC, hidden=64), replace(SPEC, dtype="bfloat16"), replace(SPEC, dataset="pubmed")]
    found = tables(replace(ROW, spec=spec) for spec in (*specs, *specs))
    assert list(found) == [heading(spec) for spec in specs]
    assert tables([]) == {}
    assert heading(SPEC) == "cora · hidden 256 · float32 · int64 · cpu"


def test_fastest_is_bold_where_there_is_a_choice_and_a_name_is_text():
    slower = replace(ROW, spec=replace(SPEC, platform="torch"), seconds=3e-3)
    assert "\x1b[1m1.00 ms\x1b[0m" in render(ROW, slower, color=True)
    assert "\x1b[1m3.00 ms\x1b[0m" not in render(ROW, slower, color=True)
    assert "\x1b[1m1.00 ms\x1b[0m" not in render(ROW, color=True)
    assert "mine[red]" in render(replace(ROW, spec=replace(SPEC, operation="mine[red]")))


def test_what_torch_compile_did_is_noted():
    counts = {**OURS["counters"]["counts"], "compilation": {"graphs": 2, "recompilations": 1}}
    row = TableRow.of(SPEC, {**OURS, "counters": {**OURS["counters"], "counts": counts}})
    assert row.notes == ("torch.compile made 2 graphs, with 1 recompilation",)


def test_a_whole_call_has_no_counters_and_what_was_compiled_is_noted():
    measured = {**OURS["measurement"], "in_place": "why", "whole_call": "it starts a compiler"}
    ours = {name: value for name, value in OURS.items() if name != "counters"}
    compilation = {"graphs": 4, "recompilations": 0, "graph break: one": 3, "graph break: other": 1}
    row = TableRow.of(SPEC, {**ours, "measurement": measured, "compilation": compilation})
    assert (row.operators, row.host_reads, row.peak_bytes) == (None, None, None)
    assert row.notes == (
        "whole calls timed by the wall clock, none counted, no fingerprint: it starts a compiler",
        "torch.compile made 4 graphs, with 0 recompilations and 4 graph breaks",
    )
