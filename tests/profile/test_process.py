"""Real processes that profile, one of each side."""

import pytest

from gnnbench.errors import UsageError
from gnnbench.profile import process, record
from tests.profile.subjects import Unheard
from tests.suite import environment

SUITE = """
import os
from pathlib import Path

import pytest

HERE = os.environ["SIDE"]


def work():
    with Path("calls").open("a") as file:
        file.write(HERE)


def test_work(benchmark):
    benchmark(work)


def test_fails(benchmark):
    benchmark(os._exit if HERE == "B" else int, 1)


@pytest.mark.parametrize("operation", ["gat", "gat_cached", "aggregate"])
def test_any(benchmark, operation):
    benchmark(int)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Profile tests of the suite on some sides; return how they ended."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    monkeypatch.chdir(tmp_path)

    def run(sides, *arguments, kinds=("phases",), **wanted):
        started = [process.ProfiledSide(side, environment=environment(SIDE=side)) for side in sides]
        given = process.Wanted(arguments or ("test_suite.py",), kinds, 3, tmp_path / "profiles", **wanted)
        return process.run(started, given, Unheard())

    return run


def test_the_calls_of_two_sides_take_turns(run, tmp_path):
    sides = run("AB", "test_suite.py::test_work")
    assert [one.failed for (one,) in sides] == [None, None]
    # The first, three with ranges and three without; and in the last turn one that counts, and the test's.
    assert (tmp_path / "calls").read_text() == "AB" * 7 + "AABB"
    rows = [record.read(one.folder)["sections"]["phases"]["rows"] for (one,) in sides]
    assert [len(row["self_ns"]) for (row,) in rows] == [3, 3]


def test_where_a_side_dies_the_other_goes_on(run):
    (work, fails, *_), others = run("AB")
    assert (work.failed, fails.failed) == (None, None)
    assert [one.id for one in others] == ["test_suite.py::test_work", "test_suite.py::test_fails"]
    assert others[1].failed.startswith("pytest ended early with exit status 1")


def test_a_side_that_refuses_its_arguments_is_named(run):
    with pytest.raises(UsageError, match=r"^A: file or directory not found: "):
        run("AB", "nowhere.py")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"select": "gat"}, ["gat"]),
        ({"select": "gat or aggregate"}, ["gat", "gat_cached", "aggregate"]),
        ({"select": "gat", "only": ["test_suite.py::test_any[aggregate]"]}, ["aggregate"]),
    ],
    ids=["operation", "expression", "only"],
)
def test_an_operation_is_meant_before_an_expression(run, given, expected):
    (found,) = run("A", kinds=("functions",), **given)
    assert [one.id for one in found] == [f"test_suite.py::test_any[{name}]" for name in expected]


def test_an_expression_goes_with_that_of_the_arguments(run):
    (found,) = run("A", "test_suite.py", "-k", "cached", kinds=("functions",), select="gat or aggregate")
    assert [one.id for one in found] == ["test_suite.py::test_any[gat_cached]"]
