"""Real processes that profile, one for each side."""

import os

import pytest

from gnnbench.errors import UsageError
from gnnbench.measure.instructions.callgrind import ARCHITECTURE
from gnnbench.profile import process, record
from tests.profile.subjects import Unheard
from tests.suite import environment

SUITE = """
import os
from pathlib import Path

HERE = os.environ["SIDE"]


def work():
    with Path("calls").open("a") as file:
        file.write(HERE)


def test_work(benchmark):
    benchmark(work)


def test_fails(benchmark):
    benchmark(os._exit if HERE == "B" else int, 1)


def test_more(benchmark):
    benchmark(int)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Profile tests of the suite on some sides; return how they ended."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    monkeypatch.chdir(tmp_path)

    def run(sides, *arguments, kinds=("phases",)):
        started = [process.ProfiledSide(side, environment=environment(SIDE=side)) for side in sides]
        wanted = process.Wanted(arguments, kinds, 3, tmp_path / "profiles")
        return process.run(started, wanted, Unheard())

    return run


@pytest.mark.nightly
def test_where_one_side_dies_the_other_is_profiled(run, tmp_path):
    sides = run("AB", "test_suite.py")
    # The first, three with ranges and three without; one that counts, and the test's.
    assert (tmp_path / "calls").read_text() == "A" * 9 + "B" * 9
    (work, fails, more), others = sides
    assert [one.failed for one in (work, fails, more, others[0])] == [None] * 4
    rows = [record.read(one.folder).sections["phases"]["rows"] for one in (work, others[0])]
    assert [len(row["self_ns"]) for (row,) in rows] == [3, 3]
    assert [one.id for one in others] == ["test_suite.py::test_work", "test_suite.py::test_fails"]
    assert others[1].failed.startswith("pytest ended early with exit status 1")


@pytest.mark.skipif(os.uname().machine != ARCHITECTURE, reason="valgrind is used there only")
def test_instructions_are_counted_under_valgrind_and_a_side_that_refuses_its_arguments_is_named(
    run, tmp_path, monkeypatch
):
    """Here it is this valgrind that does."""
    program = tmp_path / "valgrind"
    program.write_text('#!/bin/sh\necho "ERROR: gnnbench: no $1"\nexit 4\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(UsageError, match=r"^A: no --tool=callgrind$"):
        run("A", "nowhere.py", kinds=("instructions",))


def test_a_signal_without_a_name_has_its_number():
    assert process._why(-35, "", "") == "pytest was killed by signal 35\n"
