"""Real runs with --gnn-instructions, under valgrind where the processor counts nothing here."""

import json
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from gnnbench.measure.instructions import hardware
from gnnbench.measure.instructions.counting import Instructions
from gnnbench.options import Options
from gnnbench.plugin.instructions import InstructionCounts
from gnnbench.results import instruction_baseline as baseline
from gnnbench.schema import departure
from tests.plugin.recorded import collected
from tests.suite import run

counting = pytest.mark.skipif(
    bool(hardware.why_not()) and not shutil.which("valgrind"), reason="nothing counts instructions here"
)
named = pytest.mark.skipif(
    not hardware.why_not() or not shutil.which("valgrind"), reason="only callgrind names functions of C"
)

BARE = "-p no:hypothesispytest -p no:xdist -p no:rerunfailures"
"""What each import costs is multiplied by ten under valgrind."""

EXTENSION = """
#include <Python.h>

static volatile double sink;

__attribute__((noinline)) static void mix_rows(long times) {
    for (long i = 0; i < times; i++) sink = sink * 0.5 + (double)i;
}

__attribute__((noinline)) static void add_rows(long times) {
    for (long i = 0; i < times; i++) sink += (double)i;
}

static PyObject *step(PyObject *self, PyObject *none) {
    add_rows(400000);
    mix_rows(TIMES);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"step", step, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "rows", "", -1, methods};
PyMODINIT_FUNC PyInit_rows(void) { return PyModule_Create(&module); }
"""

SUITE = """
import rows

def smooth(times):
    return [rows.step() for _ in range(times)]

def test_rows(benchmark):
    benchmark(smooth, 1)
"""
PLAIN = """
import random

def test_sort(benchmark):
    benchmark(sorted, [*range(20_000)], key=lambda one: -one)

def test_draws(benchmark):
    benchmark(lambda: [None] * random.randrange(2000, 9000))

def test_once(benchmark):
    benchmark.pedantic([1].pop)

def test_repeated(benchmark):
    benchmark.pedantic(list.append, setup=lambda: (([], 1), {}), rounds=3)
"""


def build(folder: Path, times: int) -> None:
    """Compile the extension so that a call of `mix_rows` executes `times` rounds."""
    (folder / "rows.c").write_text(EXTENSION)
    include, suffix = sysconfig.get_paths()["include"], sysconfig.get_config_var("EXT_SUFFIX")
    command = ["gcc", "-O1", "-g", "-shared", "-fPIC", f"-DTIMES={times}", f"-I{include}", "rows.c"]
    subprocess.run([*command, "-o", f"rows{suffix}"], cwd=folder, check=True)


def count(folder: Path, *arguments: str):
    path = str(folder)
    return run("-q", *arguments, cwd=folder, PYTHONPATH=path, PYTEST_ADDOPTS=BARE, TERM="dumb")


@pytest.mark.nightly
@named
@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_one_percent_more_work_in_an_extension(tmp_path):
    (tmp_path / "test_suite.py").write_text(SUITE)
    build(tmp_path, 200_000)
    recorded = count(tmp_path, "--gnn-instructions=update", "-k", "rows")
    assert recorded.returncode == 0, recorded.stdout
    (file,) = (tmp_path / "baselines/instructions").iterdir()
    rows = json.loads(file.read_text())["instructions"]["test_suite.py::test_rows"]
    assert rows["functions"]["rows:mix_rows"] > 800_000
    assert sum(number for name, number in rows["frames"].items() if ":smooth" in name) > 4_000_000
    build(tmp_path, 205_500)
    more = count(tmp_path, "--gnn-instructions", "--gnn-instructions-limit", "0.5%", "-k", "rows")
    assert more.returncode == 1
    line = r"\+1\.0% instructions .*in smooth.*in mix_rows \(rows\); the limit is \+0.5%"
    assert re.search(line, more.stdout)


@counting
@pytest.mark.nightly
def test_counts_are_recorded_and_compared(tmp_path):
    (tmp_path / "test_suite.py").write_text(PLAIN)
    recorded = count(tmp_path, "--gnn-instructions=update", "--benchmark-json", "run.json")
    assert recorded.returncode == 0, recorded.stdout
    assert re.search(r"3 recorded in baselines/instructions/python-3\S+\.json", recorded.stdout)
    assert "test_once: not counted: benchmark.pedantic asks for one round" in recorded.stdout
    assert re.search(r"test_draws: [\d,]+ instructions; calls differ by [\d.]+% in ", recorded.stdout)
    content = json.loads((tmp_path / "run.json").read_text())
    for one in content["benchmarks"]:
        assert departure(one["extra_info"]["gnnbench"], "run") is None
    (file,) = (tmp_path / "baselines/instructions").iterdir()
    saved = json.loads(file.read_text())
    assert departure(saved, "instructions") is None
    # A record of a tenth of the work of one benchmark, and of none of another.
    name = "test_suite.py::test_sort"
    saved["instructions"][name]["total"] //= 10
    del saved["instructions"]["test_suite.py::test_repeated"]
    file.write_text(json.dumps(saved))
    found = count(tmp_path, "--gnn-instructions", "--gnn-instructions-limit", "50%", "-k", "not once")
    assert found.returncode == 1
    assert "1 failed, 2 passed" in found.stdout
    assert re.search(r"\+900\.\d% instructions \(.+\); the l", found.stdout)
    assert "2 compared with baselines/instructions/" in found.stdout
    assert "1 not compared: not in baselines/instructions/python-" in found.stdout


@counting
@pytest.mark.parametrize(
    ("options", "found", "said"),
    [
        ({}, {"change": 0.01}, None),
        ({"instructions_limit": "2%"}, {"change": 0.01}, None),
        ({"instructions_limit": "0.5%"}, {"change": 0.01}, "more; the limit is +0.5%"),
        ({"strict": True}, {"change": None, "changed": None}, "record with --gnn-instructions=update"),
        ({}, {"change": None, "changed": None}, None),
        ({"strict": True}, {"left_out": "it died"}, "were not counted: it died"),
        ({}, {"left_out": "it died"}, None),
    ],
)
def test_what_fails(pytester, options, found, said):
    (item,) = collected(pytester, "def test_one(benchmark):\n    pass\n")
    counts = InstructionCounts(item.config, Options.parse(device="cpu", instructions="check", **options))
    counts._file = baseline.path_of(item.config.rootpath, "default")
    report = pytest.TestReport(item.nodeid, item.location, {}, "passed", None, "call")
    counted = Instructions(100).as_json()
    counts._judge(item, {"counted": counted, "changed": "more", **found}, report)
    assert report.failed == (said is not None)
    assert (said or "") in str(report.longrepr)


def test_without_valgrind(pytester, monkeypatch):
    if not hardware.why_not():
        pytest.skip("this processor counts instructions")
    elsewhere = [one for one in os.environ["PATH"].split(os.pathsep) if not Path(one, "valgrind").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join(elsewhere))
    said = "valgrind counts instructions, and is not installed: apt install valgrind"
    with pytest.raises(pytest.UsageError, match=said):
        pytester.parseconfigure("--gnn-instructions")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--gnn-instructions=nonsense"], "nonsense"),
        (["--gnn-instructions", "--gnn-counters"], "leave out --gnn-counters"),
        (["--gnn-instructions", "--gnn-growth"], "leave out --gnn-growth"),
        (["--gnn-instructions", "--gnn-instructions-limit", "7"], "instructions-limit '7'"),
    ],
)
def test_wrong_usage(pytester, arguments, words):
    with pytest.raises(pytest.UsageError, match=words):
        pytester.parseconfigure(*arguments)
