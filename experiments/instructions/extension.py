"""Is 1 % more work in an extension found, with its function's name, and is the same code left alone?

    python experiments/instructions/extension.py [--times 20]

Compiles the extension of tests/profile/test_instructions.py, and counts alternately the same extension and
one that does 1 % more.
"""

import argparse
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from agreement import counted

from gnnbench.engine.judge.instructions import InstructionChange
from gnnbench.engine.measure.instructions import Instructions

LEAST = 0.005
"""A smaller change is not looked for."""
EXTENSION = """
#include <Python.h>

static volatile double sink;

__attribute__((noinline)) static void mix_rows(long times) {
    for (long i = 0; i < times; i++) sink = sink * 0.5 + (double)i;
}

static PyObject *step(PyObject *self, PyObject *none) {
    mix_rows(TIMES);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"step", step, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "rows", "", -1, methods};
PyMODINIT_FUNC PyInit_rows(void) { return PyModule_Create(&module); }
"""
SUITE = """
import rows


def test_rows(benchmark):
    benchmark(rows.step)
"""


def count(folder: Path, times: int) -> Instructions:
    """Compile the extension, and count the benchmark that calls it."""
    (folder / "rows.c").write_text(EXTENSION)
    include = sysconfig.get_paths()["include"]
    command = ["gcc", "-O1", "-g", "-shared", "-fPIC", f"-DTIMES={times}", f"-I{include}", "rows.c"]
    subprocess.run([*command, "-o", "rows.so"], cwd=folder, check=True)
    ((_, (found, _)),) = counted(["test_suite.py"], folder)
    return found


def main() -> None:
    """Count alternately, and print how often each answer is right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    times = parser.parse_args().times
    named = clean = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "test_suite.py").write_text(SUITE)
        base = count(folder, 200_000)
        for number in range(1, times + 1):
            more, same = (InstructionChange.between(base, count(folder, one)) for one in (205_500, 200_000))
            named += more.fraction > LEAST and "in mix_rows (rows)" in more.sentence()
            clean += same.fraction <= LEAST
            print(
                f"1 % more found and named: {named} of {number}; same code passes: {clean} of {number}",
                flush=True,
            )


if __name__ == "__main__":
    main()
