import io
from dataclasses import replace

from rich.console import Console

from gnnbench.report.console import UNLIMITED
from gnnbench.report.labels import Labels, groups, short
from gnnbench.workloads.spec import Spec

SPEC = Spec("add_remaining_self_loops", "forward_backward", "sparse", "float32", "int64", "cora", 256, "cpu")
OTHER = replace(SPEC, operation="spmm_sum", direction="forward", platform="pyg")


def of(*specs):
    return {f"benchmarks/test_a.py::test_a[{spec.id}]": spec for spec in specs}


def shown(labels, width):
    file = io.StringIO()
    table = labels.table()
    table.add_column("time", no_wrap=True)
    for name in labels.cells:
        table.add_row(*labels.row(name), "1.00 ms")
    Console(file=file, width=width).print(table)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_ours_have_columns_and_a_heading():
    labels = Labels.of(of(SPEC, OTHER))
    assert labels.columns == ("operation", "dir", "on")
    assert list(labels.cells.values()) == [
        ("add_remaining_self_loops", "f+b", "sparse"),
        ("spmm_sum", "fwd", "pyg"),
    ]
    assert labels.shared == "cora · hidden 256 · float32 · int64 · cpu"


def test_in_one_table_a_further_column_has_the_inputs_that_differ():
    specs = of(SPEC, replace(SPEC, dataset="pubmed"), replace(SPEC, dataset="pubmed", hidden=64))
    labels = Labels.of(specs)
    assert labels.columns == ("operation", "dir", "on", "input")
    assert [cells[-1] for cells in labels.cells.values()] == [
        "cora · hidden 256",
        "pubmed · hidden 256",
        "pubmed · hidden 64",
    ]
    assert labels.shared == "float32 · int64 · cpu"
    assert [group.shared for group in groups(specs)] == [
        "cora · hidden 256 · float32 · int64 · cpu",
        "pubmed · hidden 256 · float32 · int64 · cpu",
        "pubmed · hidden 64 · float32 · int64 · cpu",
    ]


def test_others_and_what_columns_cannot_tell_apart_have_ids():
    others = {"bench/test_a.py::b[x/y::z]": None, "bench/test_b.py::c": None}
    assert Labels.of(others).columns == ("benchmark",)
    assert Labels.of(others).shared == "bench/"
    assert [*Labels.of(others).cells.values()] == [("test_a.py::b[x/y::z]",), ("test_b.py::c",)]
    mixed = {**of(SPEC), **others}
    assert Labels.of(mixed).columns == ("benchmark",)
    assert [group.columns for group in groups(mixed)] == [("operation", "dir", "on"), ("benchmark",)]
    twice = {"a.py::test_own[1]": SPEC, "a.py::test_own[2]": SPEC}
    assert [*Labels.of(twice).cells.values()] == [("test_own[1]",), ("test_own[2]",)]
    assert [*Labels.of({"a/b/": None, "a/b/c": None}).cells.values()] == [("b/",), ("b/c",)]
    assert groups({}) == []


def test_a_sentence_has_short_names():
    twin = replace(SPEC, dataset="pubmed")
    assert list(short({**of(SPEC, OTHER), "bench/test_b.py::c": None}).values()) == [
        "add_remaining_self_loops f+b sparse",
        "spmm_sum fwd pyg",
        "c",
    ]
    assert list(short(of(SPEC, twin)).values()) == [
        "add_remaining_self_loops f+b sparse cora",
        "add_remaining_self_loops f+b sparse pubmed",
    ]


def test_names_are_broken_at_separators_and_whole_in_a_pipe():
    name = "test_a.py::test_of_a_stranger[float32-some_longer_parameter-2]"
    labels = Labels.of({name: None, "test_b.py::c": None})
    assert shown(labels, 44) == [
        "benchmark                            time",
        "test_a.py::test_of_a_stranger        1.00 ms",
        "[float32-some_longer_parameter-2]",
        "test_b.py::c                         1.00 ms",
    ]
    assert f"{name} 1.00 ms" in shown(labels, UNLIMITED)
    narrow = shown(Labels.of(of(SPEC)), 34)
    assert narrow[1:] == ["add_remaining_  f+b sparse 1.00 ms", "self_loops"]


def test_names_are_text_and_steer_no_terminal():
    labels = Labels.of({"a::\x1b[2J[bold]b\u202e": None, "a::c": None})
    (line,) = [line for line in shown(labels, 80) if "2J" in line]
    assert line.startswith("\ufffd[2J[bold]b\ufffd")
    assert "\x1b" not in Labels.of({"\x1b/a": None, "\x1b/b": None}).heading().plain
