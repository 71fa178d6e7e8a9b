import shlex
from dataclasses import replace

import pytest

from gnnbench.engine.drive.repeat import MOST_IDS, Repeat, ends_of
from gnnbench.engine.process.variants.variant import parse
from tests.engine.process.variants.repositories import commit, without_settings

GIT = Repeat("git:main", ".", ("git:main", "git:HEAD"), places=("tests",))


def ids(file, count, function="test_f"):
    return [f"tests/{file}.py::{function}[{number}]" for number in range(count)]


def selected(names, repeat=GIT):
    """Return pytest's arguments in both commands."""
    commands = repeat.commands(names)
    words = [shlex.split(text) for text in (commands.ab, commands.bisect)]
    assert [one[: one.index("--")] for one in words] == [
        ["gnnbench", "ab", "git:main", ".", *repeat.options],
        ["gnnbench", "bisect", "git:main", "git:HEAD", *repeat.options],
    ]
    first, second = (one[one.index("--") + 1 :] for one in words)
    assert first == second
    return first


def test_a_few_benchmarks_are_selected_by_their_ids():
    names = ids("test_a", MOST_IDS)
    assert selected(names) == names
    built = replace(GIT, options=("--effect", "0.1", "--build", "make", "--dependencies"))
    assert selected(names, built) == names
    assert not replace(GIT, options=("--plant", "5%")).commands(names).bisect, "it is in no commit"


def test_many_are_selected_by_their_files_or_by_what_was_given_to_pytest():
    files = [f"tests/test_{letter}.py" for letter in "abcdef"]
    many = [name for letter in "abcdef" for name in ids(f"test_{letter}", 2)]
    given = replace(GIT, pytest=("-m", "not slow"))
    assert selected(many[:10], given) == ["-m", "not slow", *files[:5]]
    assert selected(many, given) == ["-m", "not slow", "tests"]
    unknown = replace(GIT, places=())  # of two runs nobody knows what was given
    assert selected(many, unknown) == files


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
        ("git:../pyg@2.7", "git:../pyg@2.8", ("git:../pyg@2.7", "git:../pyg@2.8")),
        ("git:../pyg@2.7", "git:../dgl@2.8", None),
        ("pip:torch_geometric==2.7.0", ".", ("pip:torch_geometric==2.7.0", "pip:torch_geometric==9.9")),
        ("pip:a==1", "pip:A==2", ("pip:a==1", "pip:A==2")),
        ("pip:a==1", "pip:b==2", None),
        (".", "env:A=1", None),
        ("git:main env:A=1", "git:HEAD env:A=1", None),
        ("git:main pip:a==1", ".", None),
    ],
)
def test_a_bisection_needs_two_versions_of_one_thing(base, head, expected, monkeypatch, tmp_path):
    monkeypatch.setattr("gnnbench.engine.drive.repeat.version", {"torch-geometric": "9.9+cpu"}.get)
    assert ends_of(parse(base), parse(head), tmp_path, clean=True) == expected
    if (base, head) == ("git:main", "."):
        assert ends_of(parse(base), parse(head), tmp_path, clean=False) is None, "in no commit"


def test_between_neighbouring_commits_there_is_nothing_to_search(tmp_path, monkeypatch):
    without_settings(monkeypatch)
    for version in range(3):
        commit(tmp_path, version)
    working_tree = parse(".")
    found = [ends_of(parse(f"git:HEAD~{number}"), working_tree, tmp_path, clean=True) for number in (1, 2)]
    assert found == [None, ("git:HEAD~2", "git:HEAD")]
