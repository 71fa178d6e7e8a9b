"""Real pairs of processes on a small suite, whose package differs between the sides."""

import pytest

from gnnbench import schema
from gnnbench.compare.ab import affected
from gnnbench.errors import UsageError
from gnnbench.variants.prepare import Prepared
from tests.compare.ab.workers import clean, write

OLD = """
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
NEW = """
LIMIT = 4

def changed(x):
    return x + 2

def added(x):
    return x

def calls(x):
    return added(x)

def same(x):  # a comment
    return x

def limited(x):
    return x < LIMIT
"""
SUITE = """
import os
import pytest
import thing

SIDE = os.environ.get("SIDE")

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

def test_last(benchmark):
    benchmark(thing.same, 1)

if SIDE == "head":
    def test_only_in_head(benchmark):
        benchmark(thing.same, 1)
"""


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    clean(monkeypatch)


def side(name, folder):
    return Prepared(name, (folder,), {"SIDE": name}, None, False, {})


@pytest.fixture
def run(tmp_path):
    """Return a function that inspects benchmarks, and the lines that it was told."""
    for name, text in (("base", OLD), ("head", NEW)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thing.py").write_text(text)
    write(tmp_path, SUITE)
    base, head = (side(name, tmp_path / name) for name in ("base", "head"))
    lines = []

    def inspect(*arguments, **options):
        words = arguments or ("test_suite.py",)
        told = {"say": lines.append, "step": lines.append}
        return affected.run(base, head, words, tmp_path, 60, **told, **options), lines

    return inspect


def short(names):
    return [name.removeprefix("test_suite.py::test_") for name in names]


def test_every_benchmark_is_changed_or_the_same_or_unknown_with_its_reason(run):
    found, lines = run()
    assert short(found.named("same")) == ["thing[same]", "last"]
    changed = found.named("changed")
    assert short(changed) == ["thing[changed]", "thing[calls]", "thing[limited]"]
    differences = [one.inspections.difference for one in changed.values()]
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
    assert unknown == {
        "once": "benchmark.pedantic fixes the calls",
        "skips_in_the_call_in_base": "base: skipped: enough",
        "exits_in_head": "head: ended with exit status 7 while inspecting",
        "only_in_head": "base: has no such test",
    }
    assert found.notes == ("skipped on both sides, and left out: 2 benchmarks",)
    restarts = [line for line in lines if line.endswith("restarting both sides")]
    assert len(restarts) == 1, "only the side that died"


def test_the_json_form_has_the_names_and_its_schema(run):
    found, _ = run("test_suite.py", "-k", "thing or once")
    saved = found.as_json()
    assert schema.departure(saved, "affected") is None
    assert saved["summary"] == {"changed": 3, "same": 1, "unknown": 1}
    calls = next(one for one in saved["benchmarks"] if "calls" in one["id"])
    assert calls["status"] == "changed"
    assert calls["changed"]["functions"] == ["thing:removed", "thing:added", "thing:calls"]
    assert calls["changed"]["head_only"] == ["thing:added", "thing.added defaults"]


def test_one_benchmark_is_chosen_by_a_part_of_its_id(run):
    for text in ("calls]", "test_suite.py::test_last"):
        found, _ = run(only=text)
        assert [text in name for name in found.benchmarks] == [True]
    with pytest.raises(UsageError, match="'thing' is in 4 ids: give more of one, as in "):
        run(only="thing")
    with pytest.raises(UsageError, match="'nowhere' is in no benchmark's id"):
        run(only="nowhere")


def test_without_benchmarks_nothing_is_found(run):
    found, _ = run("test_suite.py", "-k", "plain")
    assert not found.benchmarks
    assert not found.notes


def test_sides_that_cannot_be_compared_are_one_line(run, tmp_path):
    with pytest.raises(UsageError, match=r"while starting: ERROR: file or directory not found: nowhere.py"):
        run("nowhere.py")
    (tmp_path / "test_other.py").write_text("def test_sum(benchmark): benchmark(sum, [1])\n")
    with pytest.raises(UsageError, match="base: the benchmarks import no package of base: nothing"):
        run("test_other.py")
