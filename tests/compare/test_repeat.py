import shlex
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.drive.repeat import MOST_IDS, Repeat, ends_of
from gnnbench.engine.process.variants.variant import parse

GIT = Repeat("git:main", ".", ("git:main", "git:HEAD"), places=("tests",))


def ids(file, count, function="test_f"):
    return [f"tests/{file}.py::{function}[{number}]" for number in range(count)]


def selected(names, known=(), repeat=GIT):
    """Return pytest's arguments in both commands, and the number of benchmarks that they select."""
    commands = repeat.commands(names, known)
    words = [shlex.split(text) for text in (commands.ab, commands.bisect)]
    assert [one[: one.index("--")] for one in words] == [
        ["gnnbench", "ab", "git:main", ".", *repeat.options],
        ["gnnbench", "bisect", "git:main", "git:HEAD", *repeat.options],
    ]
    first, second = (one[one.index("--") + 1 :] for one in words)
    assert first == second
    return first, commands.count


def test_a_few_benchmarks_are_selected_by_their_ids():
    names = ids("test_a", MOST_IDS)
    assert selected(names, [*names, *ids("test_b", 1)]) == (names, MOST_IDS)
    built = replace(GIT, options=("--effect", "0.1", "--build", "make", "--dependencies"))
    assert selected(names, repeat=built) == (names, MOST_IDS)
    assert not replace(GIT, options=("--plant", "5%")).commands(names).bisect, "it is in no commit"


@pytest.mark.parametrize("count", [1, MOST_IDS, 40])
def test_all_are_selected_by_what_was_given_to_pytest(count):
    names = ids("test_a", count)
    given = replace(GIT, pytest=("-m", "not slow"), places=("./tests/test_a.py::test_f",))
    assert selected(names[::-1], names, given) == (["-m", "not slow", "./tests/test_a.py::test_f"], count)
    unknown = replace(GIT, places=())  # of two runs nobody knows what was given
    assert selected(names[:1], names[:1], unknown) == (names[:1], 1)


def test_many_are_selected_by_a_file_or_a_function_that_selects_no_others():
    names, others = ids("test_a", 9), ids("test_b", 3)
    assert selected(names, [*names, *others]) == (["tests/test_a.py"], 9)
    assert selected(names, [*names, *ids("test_a", 3, "test_g")]) == (["tests/test_a.py::test_f"], 9)
    mixed = [*names, others[0]]
    assert selected(mixed, [*names, *others]) == (["tests/test_a.py", others[0]], 10)


def test_of_many_without_a_short_selection_the_first_are_named():
    known = ids("test_a", 40)
    assert selected(known[::2], known) == (known[:10:2], MOST_IDS)
    # Other benchmarks of the file are not known, as in a shard.
    assert selected(known) == (known[:MOST_IDS], MOST_IDS)


@given(st.integers(0, 2**18 - 1))
def test_a_selection_is_exact(bits):
    known = [f"t/{file}.py::{f}[{one}]" for file in "ab" for f in "fgh" for one in ("xa", "ya", "yb")]
    names = [name for number, name in enumerate(known) if bits >> number & 1]
    if not names:
        return
    words, count = selected(names, known)
    found = [
        name
        for name in known
        if {"tests", name, name.partition("[")[0], name.partition("::")[0]} & set(words)
    ]
    assert set(found) <= set(names)
    assert len(found) == count


def test_commands_can_be_copied_whatever_the_names():
    repeat = Repeat(
        "git:main env:A='b c'", ".", None, ("--effect", "5%"), ("-m", "not slow"), ("bench",), rootdir=".."
    )
    commands = repeat.commands(["bench/test_a.py::test_f[$(rm -rf ~) 'x']"])
    assert shlex.split(commands.ab) == [
        *("gnnbench", "ab", "git:main env:A='b c'", ".", "--effect", "5%", "--", "-m", "not slow"),
        "../bench/test_a.py::test_f[$(rm -rf ~) 'x']",
    ]
    assert commands.bisect is None
    hostile = GIT.commands(["--basetemp=/home::x"]).ab
    assert shlex.split(hostile)[-1] == "./--basetemp=/home::x"


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ("git:main", ".", ("git:main", "git:HEAD")),
        ("git:../pyg@2.7", "git:../pyg/@2.8", ("git:../pyg@2.7", "git:../pyg/@2.8")),
        ("git:../pyg@2.7", "git:../dgl@2.8", None),
        ("pip:torch_geometric==2.7.0", ".", ("pip:torch_geometric==2.7.0", "pip:torch_geometric==9.9")),
        ("pip:a==1", "pip:A==2", ("pip:a==1", "pip:A==2")),
        ("pip:a==1", "pip:b==2", None),
        (".", "env:A=1", None),
        ("git:main env:A=1", "git:HEAD env:A=1", None),
        ("git:main pip:a==1", ".", None),
    ],
)
def test_a_bisection_needs_two_versions_of_one_thing(base, head, expected, monkeypatch):
    monkeypatch.setattr("gnnbench.engine.drive.repeat.version", {"torch_geometric": "9.9+cpu"}.get)
    assert ends_of(parse(base), parse(head), clean=True) == expected
    if (base, head) == ("git:main", "."):
        assert ends_of(parse(base), parse(head), clean=False) is None, "in no commit"
