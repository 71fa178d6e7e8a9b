"""`gnnbench profile --with instructions`: a real run under valgrind where the processor counts nothing."""

import os
import re
import shutil
from pathlib import Path

import pytest

from gnnbench.errors import UsageError
from gnnbench.measure.instructions import counter_choice, hardware
from gnnbench.profile import instructions, kinds, record
from gnnbench.profile.subject import Subject, UnavailableError
from tests.plugin.test_instructions import BARE, build, named
from tests.profile.subjects import widest
from tests.suite import gnnbench, run

SUITE = """
import rows


def heavy(times):
    return sorted(range(times), key=lambda one: -one)


def smooth(times):
    return [rows.step() for _ in range(times)], heavy(400)


def test_once(benchmark):
    benchmark(smooth, 1)


def test_twice(benchmark):
    benchmark.pedantic(smooth, setup=lambda: ((2,), {}), rounds=3)
"""


@named
@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_functions_of_c_and_of_python(tmp_path):
    (tmp_path / "test_suite.py").write_text(SUITE)
    build(tmp_path, 200_000)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    variables = {"PYTHONPATH": str(tmp_path), "PYTEST_ADDOPTS": BARE, "TMPDIR": str(scratch)}
    words = ("profile", "test_suite.py", "--with", "instructions", "--folder", "p")
    found = gnnbench(*words, cwd=tmp_path, **variables)
    assert found.returncode == 0, found.stderr
    assert list(scratch.iterdir()) == [], "what callgrind wrote is removed"
    assert widest(found.stdout) <= 80
    once, twice = (found.stdout.index(f"\ntest_suite.py::{name}\n") for name in ("test_once", "test_twice"))
    rows = re.search(r"^add_rows \(rows\) +\d\d% +([\d,]+)$", found.stdout[once:twice], re.MULTILINE)
    assert int(rows[1].replace(",", "")) > 1_000_000
    assert re.search(r"^heavy \(test_suite\) +\d+% +[\d,]+$", found.stdout, re.MULTILINE)
    assert re.search(r"^One warm call with one thread: [\d,]+ instructions, ", found.stdout, re.MULTILINE)
    assert "__call__" not in found.stdout, "gnnbench's own functions"

    folders = [f"p/test_suite.py_{name}/0001" for name in ("test_once", "test_twice")]
    first, second = (
        record.read(tmp_path / folder)["sections"]["instructions"]["counted"] for folder in folders
    )
    assert second["functions"]["rows:mix_rows"] == pytest.approx(
        2 * first["functions"]["rows:mix_rows"], rel=1e-3
    )
    compared = gnnbench("profile", "--diff", *folders, cwd=tmp_path)
    assert compared.returncode == 0
    assert re.search(
        r"instructions: \+\d\d\.\d% .* in smooth\S*; .* in add_rows", " ".join(compared.stdout.split())
    )
    assert "(+100%) in mix_rows (rows)" in " ".join(compared.stdout.split())


def work():
    return sorted(range(20_000))


def test_by_the_processor_there_are_no_functions_of_c(tmp_path, monkeypatch):
    event = hardware.INSTRUCTIONS if not hardware.why_not() else (1, 1)  # a clock in the place of the counter
    try:
        hardware.Hardware(event).close()
    except OSError as error:
        pytest.skip(f"perf_event_open: {error}")
    monkeypatch.setattr(counter_choice, "here", lambda: hardware.Hardware(event))
    section = instructions.take(Subject(work, "cpu", 1), tmp_path)
    assert section["counted"]["functions"] == {}
    table = instructions.table(section)
    assert "does not know functions of C" in table
    assert f"work ({__name__})" in table
    assert widest(table) <= 80


@pytest.mark.parametrize("given", [["phases,instructions"], ["instructions", "trace", "phases"]])
def test_goes_with_no_other_kind(given):
    with pytest.raises(
        UsageError, match=r"^kind of profile 'instructions': .* take \w+(,\w+)* in another run$"
    ):
        kinds.parse(given)


needs_callgrind = pytest.mark.skipif(not hardware.why_not(), reason="this processor counts instructions")


@needs_callgrind
def test_where_pytest_runs_as_usual(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(
        UnavailableError, match="valgrind counts instructions, and is not installed: apt install"
    ):
        instructions.take(Subject(int, "cpu", 1), tmp_path)


@needs_callgrind
@pytest.mark.skipif(not shutil.which("valgrind"), reason="needs valgrind")
def test_what_does_it_is_named(tmp_path):
    (tmp_path / "test_suite.py").write_text("def test_sort(benchmark):\n    benchmark(sorted, [2, 1])\n")
    found = run("-rs", "--gnn-profile", "instructions", "test_suite.py", cwd=tmp_path, COLUMNS="300")
    assert found.returncode == 0
    assert "gnnbench profile SELECT --with instructions" in found.stdout


@needs_callgrind
def test_without_valgrind_the_command_says_how_to_get_it(tmp_path):
    (tmp_path / "test_suite.py").write_text("def test_sort(benchmark):\n    benchmark(sorted, [2, 1])\n")
    elsewhere = os.pathsep.join(
        one for one in os.environ["PATH"].split(os.pathsep) if not Path(one, "valgrind").exists()
    )
    found = gnnbench("profile", "test_suite.py", "--with", "instructions", cwd=tmp_path, PATH=elsewhere)
    assert found.returncode == 2
    (line,) = found.stderr.splitlines()
    assert line.endswith("apt install valgrind, or dnf install valgrind")
