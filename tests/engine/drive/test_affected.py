"""Real pairs of processes on a small suite, whose package differs between the sides."""

from functools import reduce

from gnnbench.engine.drive import affected
from tests.engine.process.workers import Watcher, plan, prepared, sides_of, write

OLD = """
SIDE = "base"
LIMIT = 3

def changed(x):
    return x + 1

def removed(x):
    return x

def calls(x):
    return removed(x)

def same(x):
    return x

def limited(x):
    return x < LIMIT
"""
CHANGES = {
    '"base"': '"head"',
    "LIMIT = 3": "LIMIT = 4",
    "x + 1": "x + 2",
    "removed": "added",
    "def same(x):": "def same(x):  # a comment",
}
NEW = reduce(lambda text, change: text.replace(*change), CHANGES.items(), OLD)
SUITE = """
import os
import pytest
import thing
from thing import SIDE

@pytest.mark.parametrize("name", ["changed", "calls", "same", "limited"])
def test_thing(benchmark, name):
    benchmark(getattr(thing, name), 1)

def test_once(benchmark):
    benchmark.pedantic(thing.same, (1,))

def test_plain():
    pass

def test_never_calls(benchmark):
    pass

@pytest.mark.skip(reason="not here")
def test_skipped(benchmark):
    benchmark(thing.same, 1)

def test_raises_in_base(benchmark):
    assert SIDE != "base"
    benchmark(thing.same, 1)

def test_skips_in_the_call_in_base(benchmark):
    benchmark(lambda: pytest.skip("enough") if SIDE == "base" else None)

def test_exits_in_head(benchmark):
    benchmark(lambda: os._exit(7) if SIDE == "head" else None)

from pytest_benchmark.plugin import benchmark as other

def test_last(benchmark, other):
    benchmark(thing.same, 1)
    other(thing.changed, 1)

if SIDE == "head":
    def test_only_in_head(benchmark):
        benchmark(thing.same, 1)
"""


def short(names):
    return [name.removeprefix("test_suite.py::test_") for name in names]


def test_every_benchmark_is_changed_or_the_same_or_unknown_with_its_reason(tmp_path):
    write(tmp_path, SUITE)
    watcher = Watcher()
    found = affected.run(*sides_of(tmp_path, OLD, NEW), plan(tmp_path), watcher)
    assert short(found.named("same")) == ["thing[same]"]
    changed = found.named("changed")
    assert short(changed) == ["thing[changed]", "thing[calls]", "thing[limited]"]
    differences = [one.work.changed for one in changed.values()]
    assert [one.functions for one in differences] == [
        ("thing:changed",),
        ("thing:removed", "thing:added", "thing:calls"),
        (),
    ]
    assert differences[1].base_only == ("thing:removed", "thing.removed defaults")
    assert differences[1].head_only == ("thing:added", "thing.added defaults")
    assert any("LIMIT" in name for name in differences[2].values)
    unknown = {short([name])[0]: one.unknown for name, one in found.named("unknown").items()}
    assert unknown.pop("raises_in_base").startswith("base: raised: AssertionError")
    assert unknown.pop("last").startswith("base and head: the test uses several fixtures `benchmark`")
    assert unknown == {
        "once": "benchmark.pedantic prescribes the calls",
        "skips_in_the_call_in_base": "base: skipped: enough",
        "exits_in_head": "fails in the head, but not in the base: ended with exit status 7 while inspecting",
        "only_in_head": "base: has no such test",
    }
    (skipped,) = found.notes
    assert skipped.startswith("2 benchmarks skipped on both sides (")
    assert skipped.endswith(" (no benchmark: the test never calls `benchmark`; not here)")
    (restart,) = watcher.said
    assert restart.endswith("restarting both sides"), "only where a side died"


def test_a_variable_that_the_variants_set_to_other_values_counts_whoever_reads_it(tmp_path, monkeypatch):
    write(tmp_path, "def test_good(benchmark):\n    benchmark(sum, [1])\n")
    monkeypatch.setenv("ALIKE", "1")
    for base, head, differing in (
        ({"ALIKE": "1", "X": "1"}, {"X": "1"}, ()),
        ({"X": "1"}, {"X": "2", "Y": "1"}, ("$X", "$Y")),
    ):
        found = affected.run(prepared("base", **base), prepared("head", **head), plan(tmp_path), Watcher())
        ((_, one),) = found.named("changed" if differing else "same").items()
        assert one.work.changed.settings == differing
