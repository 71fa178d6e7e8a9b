import os

import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.measure.instructions.callgrind import ARCHITECTURE
from gnnbench.engine.profile import process, record
from tests.profile.subjects import Unheard
from tests.suite import environment

SUITE = """
import os
from pathlib import Path

def work():
    with Path("calls").open("a") as file:
        file.write(".")


def test_work(benchmark):
    benchmark(work)


def test_fails(benchmark):
    benchmark(os._exit, 1)


def test_more(benchmark):
    benchmark(int)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    monkeypatch.chdir(tmp_path)

    for name, value in environment().items():
        monkeypatch.setenv(name, value)

    def run(*arguments, kinds=("phases",)):
        wanted = process.Wanted(arguments, kinds, 3, tmp_path / "profiles")
        return process.run(wanted, Unheard())

    return run


@pytest.mark.nightly
def test_what_was_profiled_before_it_died_is_kept(run, tmp_path):
    work, fails = run("test_suite.py")
    # The first, three with ranges and three without; one that counts, and the test's.
    assert (tmp_path / "calls").read_text() == "." * 9
    assert (work.id, work.failed) == ("test_suite.py::test_work", None)
    (row,) = record.read(work.folder).sections["phases"]["rows"]
    assert len(row["self_ns"]) == 3
    assert fails.id == "test_suite.py::test_fails"
    assert fails.failed.startswith("pytest ended early with exit status 1")


@pytest.mark.skipif(os.uname().machine != ARCHITECTURE, reason="valgrind is used there only")
def test_instructions_are_counted_under_valgrind_and_refused_arguments_are_a_line(run, tmp_path, monkeypatch):
    """Here it is this valgrind that does."""
    program = tmp_path / "valgrind"
    program.write_text('#!/bin/sh\necho "ERROR: gnnbench: no $1"\nexit 4\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(UsageError, match=r"^no --tool=callgrind$"):
        run("nowhere.py", kinds=("instructions",))


def test_a_signal_without_a_name_has_its_number():
    assert process._why(-35, "", "") == "pytest was killed by signal 35\n"
