from dataclasses import replace

from gnnbench.engine.show.names import (
    Names,
    break_name,
    clean,
    labels_in,
    names_by_table,
    short,
    short_and_shared,
)
from gnnbench.suite.spec import Spec


def test_every_character_shows():
    assert clean("x·W [spmm]") == "x·W [spmm]"
    assert clean("a\x1b[31m\u202eb\ud800\x00") == "a?[31m?b??"
    assert clean("a\nb\tc") == "a b c"
    assert clean(None) == "None"
    assert len(clean("x" * 10_000)) == 300
    clean("x\ud800" * 10_000).encode()


def test_a_test_id_of_ours_is_a_spec():
    name = "benchmarks/test_a.py::test_a[spmm_sum-forward_backward-pyg-float32-int64-rmat-like:12-64-cuda]"
    spec = Spec("spmm_sum", "forward_backward", "pyg", "float32", "int64", "rmat-like:12", 64, "cuda")
    others = ("benchmarks/test_a.py::test_a[cora]", name.replace("forward_backward", "sideways"))
    assert labels_in((name, *others)) == {name: spec.labels, **dict.fromkeys(others)}


def test_the_folder_that_all_share_is_said_once():
    names = ["tests/bench/test_a.py::test_x[1/2]", "tests/bench/test_a.py::test_y"]
    found, common = short_and_shared(dict.fromkeys(names))
    assert [*found.values()] == ["test_x[1/2]", "test_y"]
    assert common == "tests/bench/test_a.py"
    assert short_and_shared({}) == ({}, "")


def test_a_long_name_is_broken_at_words_and_keeps_both_ends():
    assert break_name("spmm_sum fwd torch", 30) == ["spmm_sum fwd torch"]
    assert break_name("conv_cached f+b pyg · ogbn-arxiv", 30) == ["conv_cached f+b pyg", "ogbn-arxiv"]
    long = break_name(f"first {'word ' * 60} the last one", 20)
    assert len(long) == 3
    assert long[0].startswith("first word")
    assert long[-1].endswith("the last one")
    assert max(map(len, long)) == 20


SPEC = Spec("add_remaining_self_loops", "forward_backward", "sparse", "float32", "int64", "cora", 256, "cpu")
OTHER = replace(SPEC, operation="spmm_sum", direction="forward", platform="pyg")


def of(*specs):
    return {f"benchmarks/test_a.py::test_a[{spec.id}]": spec.labels for spec in specs}


def test_in_one_table_a_further_column_has_the_inputs_that_differ():
    specs = of(SPEC, replace(SPEC, dataset="pubmed"), replace(SPEC, dataset="pubmed", hidden=64))
    names = Names.of(specs)
    assert names.columns == ("operation", "dir", "on", "input")
    assert [cells[-1] for cells in names.cells.values()] == [
        "cora · hidden 256",
        "pubmed · hidden 256",
        "pubmed · hidden 64",
    ]
    assert names.shared == "float32 · int64 · cpu"
    assert [group.shared for group in names_by_table(specs)] == [
        "cora · hidden 256 · float32 · int64 · cpu",
        "pubmed · hidden 256 · float32 · int64 · cpu",
        "pubmed · hidden 64 · float32 · int64 · cpu",
    ]


def test_others_and_what_columns_cannot_tell_apart_have_ids():
    others = {"bench/test_a.py::b[x/y::z]": None, "bench/test_b.py::c": None}
    assert Names.of(others).columns == ("benchmark",)
    assert Names.of(others).shared == "bench/"
    assert [*Names.of(others).cells.values()] == [("test_a.py::b[x/y::z]",), ("test_b.py::c",)]
    mixed = {**of(SPEC), **others}
    assert Names.of(mixed).columns == ("benchmark",)
    assert [group.columns for group in names_by_table(mixed)] == [("operation", "dir", "on"), ("benchmark",)]
    twice = dict.fromkeys(("a.py::test_own[1]", "a.py::test_own[2]"), SPEC.labels)
    assert [*Names.of(twice).cells.values()] == [("test_own[1]",), ("test_own[2]",)]
    assert [*Names.of({"a/b/": None, "a/b/c": None}).cells.values()] == [("b/",), ("b/c",)]
    assert names_by_table({}) == []


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
