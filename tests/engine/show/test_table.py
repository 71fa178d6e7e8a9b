import re
from dataclasses import replace

from gnnbench.engine.ground.labels import Limit, Rates, Work
from gnnbench.engine.measure.counter_changes import Counters
from gnnbench.engine.measure.measurement import Measurement
from gnnbench.engine.show.console import Terminal
from gnnbench.engine.store.parts import FORMAT_VERSION, BenchmarkPart
from gnnbench.suite.spec import Spec
from gnnbench.suite.table import TableRow, document, notes, reading

SPEC = Spec("spmm_sum", "forward", "pyg", "float32", "int64", "cora", 256, "cpu")
ROW = TableRow(SPEC, 1e-3, 0.99e-3, 1.012e-3, 0.52, 3 * 2**20, 12, 3)

OURS = BenchmarkPart(
    FORMAT_VERSION,
    measurement=Measurement("fake", "sampled", location_ns=1e6, low_ns=0.98e6, high_ns=1.05e6),
    counters=Counters(
        {"operators": {"aten::mm": 2, "aten::add": 1}}, 1, (), {"memory": {"peak_bytes": 4096}}
    ),
    limit=Limit(Work(1, 1), Rates(1.0, 1.0), 0.25, ""),
)


def render(*rows, color=False, width=80):
    text = Terminal(width, color).write(document(rows))
    return text.split("\n", 2)[2]


def of(spec=SPEC, **changes):
    return TableRow.of(spec, replace(OURS, measurement=replace(OURS.measurement, **changes)))


def test_a_row_for_each_platform_under_its_operation():
    head, first, second, third = render(
        ROW,
        replace(ROW, spec=replace(SPEC, platform="dgl"), seconds=2e-3, low=None, high=None),
        replace(ROW, spec=replace(SPEC, operation="mine"), limit=None, peak_bytes=None),
    ).splitlines()
    assert head.split() == ["operation", "dir", "on", "time", "±", "ratio", "limit", "peak", "ops", "sync"]
    rest = ["52%", "3.0", "MiB", "12", "3"]
    assert first.split() == ["spmm_sum", "fwd", "pyg", "1.00", "ms", "1.2%", "best", *rest]
    assert second.split() == ["dgl", "2.00", "ms", "?", "~2.00x", *rest]
    assert third.split() == ["mine", "fwd", "pyg", "1.00", "ms", "1.2%", "12", "3"]


def test_the_widest_row_fits_a_terminal_of_80_columns():
    spec = replace(SPEC, operation="update_all_copy_u_mean", direction="train", platform="sparse")
    row = replace(ROW, spec=spec, limit=24.34, peak_bytes=1023 * 2**20, operators=9999, host_reads=999)
    rows = (row, replace(row, seconds=12.3e-3, low=12e-3, high=13e-3), replace(row, low=None, seconds=0.1))
    for width in (80, 120, 10_000):
        text = render(*rows, width=width)
        assert all(len(line) <= 80 for line in text.splitlines())
        assert all(word in text for word in ("1023 MiB", " 12.3x ", " ~100x ", " 2434% "))


def test_a_platform_is_slower_than_the_fastest_only_where_their_intervals_are_apart():
    def ratios(*others):
        rows = [
            replace(ROW, spec=replace(SPEC, platform=name), seconds=middle / 1e6, low=low, high=high)
            for name, (middle, low, high) in zip(("torch", "dgl", "sparse"), others, strict=True)
        ]
        return [re.search(r"best|~?[\d.]+x", line)[0] for line in render(ROW, *rows).splitlines()[1:]]

    apart, overlapping, unknown = (1900, 1.8e-3, 2e-3), (1010, 1.005e-3, 1.02e-3), (2500, None, None)
    assert ratios(apart, overlapping, unknown) == ["best", "1.90x", "~1.01x", "~2.50x"]
    assert ratios((500, None, None), apart, apart) == ["~2.00x", "best", "~3.80x", "~3.80x"]


def test_lines_below_say_how_to_read_ratios():
    def of_platform(operation, platform):
        return replace(ROW, spec=replace(SPEC, operation=operation, platform=platform))

    assert reading([ROW]) == reading([of_platform("spmm_sum", "dgl"), of_platform("mine", "dgl")]) == []
    meaning, compare = reading([ROW, of_platform("spmm_sum", "dgl")], ["-k", "spmm or mine"])
    names = re.findall(r"[^ ;]+(?=: )", meaning.text)
    assert names == ["f+b", "±", "?", "ratio", "~", "limit", "peak", "ops", "sync"]
    assert "do pytest -k 'spmm or mine' --benchmark-json=run-$i.json; done" in compare.command
    assert compare.command.endswith("; gnnbench compare --by platform run-*.json")


def test_a_row_is_taken_from_a_record():
    row = of()
    assert (row.seconds, row.limit, row.peak_bytes) == (1e-3, 0.25, 4096)
    assert (row.operators, row.host_reads) == (3, 1)
    assert row.interval.text == "5.0%"
    assert row.notes == ()
    for missing in ({"low_ns": None}, {"high_ns": None}, {"low_ns": None, "high_ns": None}):
        assert of(**missing).interval.text == "?", "one bound alone looks better than both do"
    assert TableRow.of(SPEC, replace(OURS, limit=None)).limit is None


def test_notes_name_a_few_benchmarks_and_count_many():
    rows = [of(in_place="too large to copy"), of(replace(SPEC, platform="dgl"), in_place="too large to copy")]
    note = "so another run may differ by more than the interval: too large to copy"
    (line,) = notes([*rows, of()])
    assert line.endswith(f"{note}: spmm_sum fwd pyg, spmm_sum fwd dgl")
    rows = [of(replace(SPEC, operation=f"own{number}"), changes_inputs=True) for number in range(9)]
    line = "the benchmark changes its inputs, so each call sees different values: "
    assert notes([*rows, of()]) == [f"{line}9 benchmarks (-v names them)"]
    assert notes([*rows, of()], 1)[0].count("fwd pyg, own") == 8
    assert notes(rows) == [f"{line}all benchmarks"]
    rows = [of(not_copied=["Thing"], high_ns=None)]
    assert notes([of(contention_share=0.04)]) == []
    (disturbed,) = notes([of(contention_share=0.4)])
    assert disturbed.startswith("other programs used more than 10% of the CPU time")
    assert [line.partition(":")[0] for line in notes(rows, 1)] == [
        "no interval ('?'), as there are too few measurements",
        "inputs of this type are not copied",
    ], "what a reader can act on comes first"
    over = TableRow.of(SPEC, replace(OURS, limit=Limit(Work(1, 1), Rates(1.0, 1.0), 1.5, "in cache: little")))
    assert notes([over]) == ["above the roofline bound: in cache: little: spmm_sum fwd pyg"]


def test_one_table_for_each_graph_width_and_type():
    specs = [SPEC, replace(SPEC, hidden=64), replace(SPEC, dtype="bfloat16"), replace(SPEC, dataset="pubmed")]
    found = document(replace(ROW, spec=spec) for spec in (*specs, *specs))
    assert [table.heading for table in found] == [spec.labels.heading for spec in specs]
    assert document([]) == []
    assert SPEC.labels.heading == "cora · hidden 256 · float32 · int64 · cpu"


def test_fastest_is_bold_where_there_is_a_choice_and_a_name_is_text():
    slower = replace(ROW, spec=replace(SPEC, platform="torch"), seconds=3e-3)
    assert "\x1b[1m1.00 ms\x1b[0m" in render(ROW, slower, color=True)
    assert "\x1b[1m3.00 ms\x1b[0m" not in render(ROW, slower, color=True)
    assert "\x1b[1m1.00 ms\x1b[0m" not in render(ROW, color=True)
    assert "mine[red]" in render(replace(ROW, spec=replace(SPEC, operation="mine[red]")))


def test_a_whole_call_has_no_counters_and_what_was_compiled_is_noted():
    measured = replace(OURS.measurement, in_place="why", whole_call="it starts a compiler")
    compilation = {"graphs": 4, "recompilations": 0, "graph break: one": 3, "graph break: other": 1}
    row = TableRow.of(SPEC, replace(OURS, counters=None, measurement=measured, compilation=compilation))
    assert (row.operators, row.host_reads, row.peak_bytes) == (None, None, None)
    assert row.notes == (
        "only timed, so the columns ops, peak and sync are empty: it starts a compiler",
        "torch.compile made 4 graphs, with 0 recompilations and 4 graph breaks",
    )
