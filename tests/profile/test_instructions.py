"""The kind `instructions`: a real run under valgrind."""

import re
import shutil
import subprocess
import sysconfig
from dataclasses import asdict

import pytest

from gnnbench.engine.measure.instructions.counting import Instructions
from gnnbench.engine.profile import instructions
from tests.profile.subjects import widest
from tests.suite import gnnbench

BARE = "-p no:hypothesispytest -p no:xdist -p no:rerunfailures"
"""What each import costs is multiplied by ten under valgrind."""

EXTENSION = """
#include <Python.h>

static volatile double sink;

__attribute__((noinline)) static void add_rows(long times) {
    for (long i = 0; i < times; i++) sink += (double)i;
}

static PyObject *step(PyObject *self, PyObject *none) {
    add_rows(400000);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"step", step, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "rows", "", -1, methods};
PyMODINIT_FUNC PyInit_rows(void) { return PyModule_Create(&module); }
"""

SUITE = """
import rows


def heavy(times):
    return sorted(range(times), key=lambda one: -one)


def test_smooth(benchmark):
    benchmark.pedantic(lambda: (rows.step(), heavy(400)), rounds=3)
"""


@pytest.mark.nightly
@pytest.mark.skipif(not shutil.which("valgrind"), reason="needs valgrind")
@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_functions_of_c_and_of_python(tmp_path):
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "rows.c").write_text(EXTENSION)
    command = ["gcc", "-O1", "-g", "-shared", "-fPIC", f"-I{sysconfig.get_paths()['include']}", "rows.c"]
    subprocess.run([*command, "-o", "rows.so"], cwd=tmp_path, check=True)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    variables = {"PYTHONPATH": str(tmp_path), "PYTEST_ADDOPTS": BARE, "TMPDIR": str(scratch)}
    words = ("profile", "test_suite.py", "--with", "instructions", "--folder", "p")
    found = gnnbench(*words, cwd=tmp_path, **variables)
    assert found.returncode == 0, found.stderr
    assert list(scratch.iterdir()) == [], "what callgrind wrote is removed"
    assert widest(found.stdout) <= 80
    rows = re.search(r"^add_rows \(rows\) +\d\d% +([\d,]+)$", found.stdout, re.MULTILINE)
    assert int(rows[1].replace(",", "")) > 1_000_000
    assert re.search(r"^heavy \(test_suite\) +\d+% +[\d,]+$", found.stdout, re.MULTILINE)
    assert re.search(r"^One warm call with one thread: [\d,]+ instructions, ", found.stdout, re.MULTILINE)
    assert "__call__" not in found.stdout, "gnnbench's own functions"


def test_names_are_cut_and_what_is_not_known_is_said():
    long = f"libtorch_cpu.so:at::{'very_' * 20}long"
    functions = {long: 500, **{f"lib{'x' * 60}.so:part{number}": 10 for number in range(30)}, "x": 10}
    found = Instructions(1000, 0.25, ("libc.so:memcpy",), functions, None)
    text = instructions.table({"counted": asdict(found), "counter": "callgrind 3", "capability": "avx2"})
    lines = text.splitlines()
    assert widest(text) <= 80
    assert lines[1].split() == [f"at::{'very_' * 20}long"[:57] + "…", "50%", "500"]
    assert lines[2].split() == ["part0", f"(…{'x' * 46}.so)", "1.0%", "10"]
    assert lines[26].split() == ["(all", "others)", "26%", "260"]
    assert "Python functions: each call runs others, so they were not counted." in lines
    note = " ".join(text.split())
    assert "calls differ by 25%" in note
    assert note.endswith("What differs: memcpy (libc.so).")
