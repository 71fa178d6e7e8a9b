"""`gnnbench ab --instructions`, under valgrind where the processor counts nothing here."""

import json
import os
import shutil
from pathlib import Path

import pytest

from gnnbench.measure.instructions import hardware
from tests.compare.ab.workers import write
from tests.suite import gnnbench

SUITE = """
import os

SIZE = int(os.environ["SIZE"])


def squares(size):
    return [number * number for number in range(size)]


def work(size):
    return sorted(range(5000), reverse=True), squares(size)


def test_work(benchmark):
    benchmark(work, SIZE)


def test_sort(benchmark):
    benchmark(sorted, [2, 1])
"""


@pytest.mark.nightly
@pytest.mark.skipif(
    bool(hardware.why_not()) and not shutil.which("valgrind"), reason="nothing counts instructions here"
)
def test_what_executes_more_is_named(tmp_path):
    write(tmp_path, SUITE)
    words = ("--instructions", "--budget", "0.5", "--json", "ab.json")
    found = gnnbench(
        *("ab", "env:SIZE=1000", "env:SIZE=1500", *words, "--", "test_suite.py"),
        cwd=tmp_path,
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )
    assert found.returncode in (0, 1, 3), found.stderr
    assert " instructions (" in found.stdout
    assert "in squares" in found.stdout
    saved = json.loads((tmp_path / "ab.json").read_text())
    by_name = {one["id"].partition("::")[2]: one for one in saved["benchmarks"]}
    same = by_name["test_sort"]["instructions"]  # not counted if the budget was enough to see that it is
    assert same is None or same["functions"] == []
    work = by_name["test_work"]["instructions"]
    assert work["head"] > 1.05 * work["base"]


def test_nothing_is_timed_where_nothing_counts(tmp_path):
    if not hardware.why_not():
        pytest.skip("this processor counts instructions")
    elsewhere = os.pathsep.join(
        one for one in os.environ["PATH"].split(os.pathsep) if not Path(one, "valgrind").exists()
    )
    found = gnnbench("ab", ".", ".", "--instructions", "--", ".", cwd=tmp_path, PATH=elsewhere)
    assert found.returncode == 2
    assert "--instructions: " in found.stderr
    assert "apt install valgrind" in found.stderr
