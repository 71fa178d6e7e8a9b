import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.judge.causes import causes
from gnnbench.engine.judge.comparison import Compared, Work
from gnnbench.engine.judge.verdict import Judgement
from gnnbench.engine.measure.counter_changes import CounterChange
from gnnbench.engine.measure.fingerprint.difference import Difference


def row(name, functions="", verdict="slower", ratio=1.2, counters=(), **kinds):
    """Return a benchmark whose functions, one letter each, differ."""
    names = tuple(f"library:{one}" for one in functions)
    work = Work(Difference(names, **kinds), tuple(CounterChange(*one) for one in counters))
    return Compared(name, Judgement(verdict, "it is", ratio, 1.1, 1.3), 1e-3, work=work)


def found(*rows):
    """Return what each cause names, and its benchmarks."""
    return [
        (" ".join(name.removeprefix("library:") for name in one.names), [row.fullname for row in one.rows])
        for one in causes(rows)
    ]


def test_what_most_slower_benchmarks_share_is_one_cause():
    rows = row("a", "hf"), row("b", "hg"), row("c", "h", ratio=1.5), row("d", "x")
    assert found(*rows) == [("h", ["c", "a", "b"]), ("x", ["d"])]


def test_the_fewest_causes_that_explain_all_are_named():
    # f and g are in two benchmarks each, but h and k are enough.
    rows = row("a", "hf"), row("b", "hg"), row("c", "h"), row("d", "kf"), row("e", "kg")
    assert [(name, set(names)) for name, names in found(*rows)] == [("h", set("abc")), ("k", set("de"))]


def test_what_changed_in_benchmarks_that_are_not_slower_is_less_likely():
    undecided = row("c", "p", "undecided"), row("d", "p", "incomparable")
    assert found(row("a", "ph"), row("b", "ph"), *undecided) == [("h p", ["a", "b"])], "they say nothing"
    rows = row("a", "ph"), row("b", "ph"), *(row(f"s{number}", "p", "same") for number in range(3))
    assert found(*rows) == [("h", ["a", "b"])]
    # Three of them outweigh a third benchmark: two causes are likelier.
    assert found(*rows, row("c", "px")) == [("h", ["a", "b"]), ("x", ["c"])]
    # Without another cause it is still what they share.
    (one,) = causes([row("a", "p"), row("b", "p"), *rows[2:]])
    assert (one.names, one.not_slower) == (("library:p",), 3)


def test_of_functions_that_call_each_other_the_innermost_is_named_first():
    # A fingerprint has them in the order of their first call.
    assert found(row("a", "fgh"), row("b", "fgh")) == [("h g f", ["a", "b"])]
    gone = {"base_only": ("library:h",)}
    assert found(row("a", "hfg", **gone), row("b", "hfg", **gone)) == [("g f h", ["a", "b"])]
    # Where the sides part is the outermost of those that one side alone runs.
    new = {"base_only": ("library:h",), "head_only": ("library:i", "library:j")}
    assert found(row("a", "hijfg", **new), row("b", "hijfg", **new)) == [("g f i j h", ["a", "b"])]
    # What is inside of a function that changed is part of it.
    functions = "library:f", "library:f.<locals>.<listcomp>", "library:g.<locals>.inner"
    rows = [replace(row(name), work=Work(Difference(functions))) for name in "ab"]
    (cause,) = causes(rows)
    assert cause.names == ("library:g.<locals>.inner", "library:f")
    assert cause.covers(cause.rows[0])


def test_what_one_side_alone_runs_is_called_by_what_changed_even_where_other_benchmarks_run_that_too():
    # A copy of an object without its cache: what needs the cache iterates over all again.
    items = {"head_only": ("library:i",)}
    (cause,) = causes([row("a", "ic", **items), row("b", "c", "same"), row("d", "c", "faster")])
    assert (cause.names, cause.not_slower) == (("library:c", "library:i"), 2)
    counters = [("aten::sort", 1, 2)]
    (cause,) = causes([row("a", "ic", **items, counters=counters), row("b", "c", "same")])
    assert (cause.names, cause.counters) == (("library:c", "library:i"), ("+1 aten::sort",))


def test_without_a_function_in_common_values_libraries_settings_and_counters_are():
    values = {"values": ("library:N",)}
    assert found(row("a", "f", **values), row("b", "g", **values)) == [("N", ["a", "b"])]
    (one,) = causes([row("a", settings=("threads",)), row("b", settings=("threads",))])
    assert (one.kind, one.names) == ("settings", ("threads",))
    counters = [("aten::sort", 1, 2)], [("aten::sort", 0, 1)]
    (one,) = causes([row("a", "f", counters=counters[0]), row("b", "g", counters=counters[1])])
    assert (one.kind, one.names, one.counters) == ("counters", (), ("+1 aten::sort",))


def test_a_counter_that_more_benchmarks_share_than_a_function_does_not_join_what_is_apart():
    sort = [("aten::sort", 1, 2)]
    rows = [row(name, functions, counters=sort) for name, functions in zip("abcd", "ffgh", strict=True)]
    first, second = causes(rows)
    assert (first.names, [one.fullname for one in first.rows]) == (("library:f",), ["a", "b"])
    assert (second.kind, [one.fullname for one in second.rows]) == ("counters", ["c", "d"])
    # A function that more benchmarks run without becoming slower says less than a counter.
    rows = [row(name, "p", counters=sort) for name in "ab"]
    (cause,) = causes(rows + [row(name, "p", "same") for name in "cd"])
    assert (cause.kind, cause.counters) == ("counters", ("+1 aten::sort",))


def test_counters_in_common_stand_beside_the_function():
    one, two = [("aten::mm", 2, 1), ("aten::sort", 1, 2)], [("aten::mm", 3, 1), ("aten::sort", 1, 2)]
    (cause,) = causes([row("a", "f", counters=one), row("b", "f", counters=two)])
    assert cause.counters == ("+1 aten::sort", "fewer aten::mm")
    sizes = [("Python calls", 12, 46), ("aten::sort", 5, 0), ("aten::mm", 1, 2)]
    (cause,) = causes([row("a", "f", counters=sizes), row("b", "f", counters=sizes)])
    assert cause.counters == ("+34 Python calls", "+1 aten::mm", "-5 aten::sort")
    rose, fell = [("aten::mm", 1, 2)], [("aten::mm", 2, 1)]
    (cause,) = causes([row("a", "f", counters=rose), row("b", "f", counters=fell)])
    assert cause.counters == ()


def test_a_cause_tells_all_about_a_benchmark_in_which_nothing_else_changed():
    sort = [("aten::sort", 1, 2)]
    more = [*sort, ("aten::mm", 1, 2)]
    rows = row("a", "f", counters=sort), row("b", "fg", counters=sort), row("c", "f", counters=more)
    (cause,) = causes(rows)
    assert [cause.covers(one) for one in rows] == [True, False, False]
    (cause,) = causes([row("a", counters=sort), row("b", work=("operators",), counters=sort)])
    assert [cause.covers(one) for one in cause.rows] == [True, True]


def test_results_without_evidence_have_no_causes():
    calls = [("Python calls", 3, 4)]  # their number is none
    assert found(row("a", "f", counters=calls), row("b", "g", counters=calls)) == [("f", ["a"]), ("g", ["b"])]
    assert found(row("a", counters=calls), row("b", counters=calls)) == []
    assert found(row("a"), row("b")) == []
    assert found(Compared("a", Judgement("slower", "it is", 1.2, 1.1, 1.3), 1e-3)) == []
    assert found(row("a", "f", "faster"), row("b", "f", "same")) == []


VERDICTS = st.sampled_from(["slower", "slower", "same", "faster", "undecided"])
CHANGES = st.lists(
    st.tuples(st.sampled_from(["aten::mm", "aten::sort"]), st.integers(0, 3), st.integers(0, 3)), max_size=2
)
ROWS = st.lists(st.tuples(st.text("fghk", max_size=3), VERDICTS, st.floats(1.1, 3), CHANGES), max_size=12)


@given(rows=ROWS, seed=st.integers(0, 99))
def test_each_benchmark_has_one_cause_that_it_shares_whatever_the_order(rows, seed):
    rows = [
        row(
            f"b{number}",
            "".join(dict.fromkeys(functions)),
            *rest,
            [one for one in changes if one[1] != one[2]],
        )
        for number, (functions, *rest, changes) in enumerate(rows)
    ]
    groups = causes(rows)
    names = [one.fullname for group in groups for one in group.rows]
    slower = [one for one in rows if one.judgement.verdict == "slower"]
    assert sorted(names) == sorted(one.fullname for one in slower if one.work.changed or one.work.counters)
    for group in groups:
        assert group.names or group.counters
        for one in group.rows:
            assert set(group.names) <= set(one.work.changed.functions)
    assert causes(random.Random(seed).sample(rows, len(rows))) == groups
