import re
from dataclasses import replace

from gnnbench.engine.ground.labels import Limit, Rates, Work
from gnnbench.engine.measure.counter_changes import Counters
from gnnbench.engine.measure.measurement import Measurement
from gnnbench.engine.show.console import Terminal
from gnnbench.engine.store.parts import FORMAT_VERSION, BenchmarkPart
from gnnbench.suite.spec import Spec
from gnnbench.suite.table import document, interval, notes, reading

SPEC = Spec("spmm_sum", "forward", "pyg", "float32", "int64", "cora", 256, "cpu")
OURS = BenchmarkPart(
    FORMAT_VERSION,
    measurement=Measurement("fake", "sampled", location_ns=1e6, low_ns=0.98e6, high_ns=1.05e6),
)


def limited(fraction, note=""):
    return Limit(Work(1, 1), Rates(1.0, 1.0), fraction, note)


def counted(peak_bytes, operators, host_reads):
    return Counters(
        {"operators": {"aten::mm": operators}}, host_reads, (), {"memory": {"peak_bytes": peak_bytes}}
    )


def of(spec=SPEC, part=OURS, **changes):
    return spec, replace(part, measurement=replace(OURS.measurement, **changes))


FULL = replace(OURS, limit=limited(0.52), counters=counted(3 * 2**20, 12, 3))
ROW = of(part=FULL, low_ns=0.99e6, high_ns=1.012e6)


def render(*rows, color=False, width=80):
    text = Terminal(width, color).write(document(rows))
    return text.split("\n", 2)[2]


def test_a_row_for_each_platform_under_its_operation():
    head, first, second, third = render(
        ROW,
        of(replace(SPEC, platform="dgl"), FULL, location_ns=2e6, low_ns=None, high_ns=None),
        (replace(SPEC, operation="mine"), ROW[1]),
    ).splitlines()
    assert head.split() == ["operation", "dir", "on", "time", "±", "ratio", "limit", "peak", "ops", "sync"]
    rest = ["52%", "3.0", "MiB", "12", "3"]
    assert first.split() == ["spmm_sum", "fwd", "pyg", "1.00", "ms", "1.2%", "best", *rest]
    assert second.split() == ["dgl", "2.00", "ms", "?", "~2.00x", *rest]
    assert third.split() == ["mine", "fwd", "pyg", "1.00", "ms", "1.2%", *rest]


def test_the_widest_row_fits_a_terminal_of_80_columns():
    spec = replace(SPEC, operation="update_all_copy_u_mean", direction="train", platform="sparse")
    part = replace(OURS, limit=limited(24.34), counters=counted(1023 * 2**20, 9999, 999))
    slow, slowest = (
        {"location_ns": 12.3e6, "low_ns": 12e6, "high_ns": 13e6},
        {"location_ns": 1e8, "low_ns": None},
    )
    rows = [of(spec, part, **times) for times in ({}, slow, slowest)]
    for width in (80, 120, 10_000):
        text = render(*rows, width=width)
        assert all(len(line) <= 80 for line in text.splitlines())
        assert all(word in text for word in ("1023 MiB", " 12.3x ", " ~100x ", " 2434% "))


def test_a_platform_is_slower_than_the_fastest_only_where_their_intervals_are_apart():
    def ratios(*others):
        rows = [
            of(replace(SPEC, platform=name), location_ns=middle, low_ns=low, high_ns=high)
            for name, (middle, low, high) in zip(("torch", "dgl", "sparse"), others, strict=True)
        ]
        return [re.search(r"best|~?[\d.]+x", line)[0] for line in render(ROW, *rows).splitlines()[1:]]

    apart, overlapping, unknown = (1.9e6, 1.8e6, 2e6), (1.01e6, 1.005e6, 1.02e6), (2.5e6, None, None)
    assert ratios(apart, overlapping, unknown) == ["best", "1.90x", "~1.01x", "~2.50x"]
    assert ratios((5e5, None, None), apart, apart) == ["~2.00x", "best", "~3.80x", "~3.80x"]


def test_lines_below_say_how_to_read_ratios():
    def of_platform(operation, platform):
        return of(replace(SPEC, operation=operation, platform=platform))

    assert reading([ROW]) == reading([of_platform("spmm_sum", "dgl"), of_platform("mine", "dgl")]) == []
    meaning, compare = reading([ROW, of_platform("spmm_sum", "dgl")], ["-k", "spmm or mine"])
    names = re.findall(r"[^ ;]+(?=: )", meaning.text)
    assert names == ["f+b", "±", "?", "ratio", "~", "limit", "peak", "ops", "sync"]
    assert "do pytest -k 'spmm or mine' --benchmark-json=run-$i.json; done" in compare.command
    assert compare.command.endswith("; gnnbench compare --by platform run-*.json")


def test_an_interval_has_two_bounds_and_an_unknown_count_an_empty_cell():
    assert interval(of()).text == "5.0%"
    for missing in ({"low_ns": None}, {"high_ns": None}, {"low_ns": None, "high_ns": None}):
        assert interval(of(**missing)).text == "?", "one bound alone looks better than both do"
    assert render(of()).splitlines()[-1].split() == ["spmm_sum", "fwd", "pyg", "1.00", "ms", "5.0%"]


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
    over = of(part=replace(OURS, limit=limited(1.5, "in cache: little")))
    assert notes([over]) == ["above the roofline bound: in cache: little: spmm_sum fwd pyg"]


def test_one_table_for_each_graph_width_and_type():
    specs = [SPEC, replace(SPEC, hidden=64), replace(SPEC, dtype="bfloat16"), replace(SPEC, dataset="pubmed")]
    found = document((spec, OURS) for spec in (*specs, *specs))
    assert [table.heading for table in found] == [spec.labels.heading for spec in specs]
    assert document([]) == []
    assert SPEC.labels.heading == "cora · hidden 256 · float32 · int64 · cpu"


def test_fastest_is_bold_where_there_is_a_choice_and_a_name_is_text():
    slower = of(replace(SPEC, platform="torch"), location_ns=3e6)
    assert "\x1b[1m1.00 ms\x1b[0m" in render(ROW, slower, color=True)
    assert "\x1b[1m3.00 ms\x1b[0m" not in render(ROW, slower, color=True)
    assert "\x1b[1m1.00 ms\x1b[0m" not in render(ROW, color=True)
    assert "mine[red]" in render(of(replace(SPEC, operation="mine[red]")))


def test_what_was_compiled_is_noted():
    compilation = {"graphs": 4, "recompilations": 0, "graph break: one": 3, "graph break: other": 1}
    row = of(part=replace(OURS, compilation=compilation), in_place="why", whole_call="it starts a compiler")
    assert notes([row, of()], 1) == [
        "only timed, so the columns ops, peak and sync are empty: it starts a compiler: spmm_sum fwd pyg",
        "torch.compile made 4 graphs, with 0 recompilations and 4 graph breaks: spmm_sum fwd pyg",
    ]
