"""A package with an extension module in C, in three commits: v1, v2 with a comment, v3 with more steps."""

from tests.engine.process.variants.repositories import commit_all, git

SETUP = """
from setuptools import Extension, setup
setup(name="fastk", version="1.0", packages=["fastk"], ext_modules=[Extension("fastk._k", ["fastk/k.c"])])
"""
PYPROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
"""
SOURCE = """
#include <Python.h>

static double weigh(double value, long steps) {
    for (long step = 0; step < steps; step++) value = value * 0.5 + 1.0;
    return value;
}

static PyObject *work(PyObject *self, PyObject *steps) {
    return PyFloat_FromDouble(weigh(1.0, PyLong_AsLong(steps)));
}

static PyObject *other(PyObject *self, PyObject *value) {
    return PyUnicode_FromFormat("%s %R", "other", value);
}

static PyMethodDef methods[] = {{"work", work, METH_O}, {"other", other, METH_O}, {NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_k", NULL, -1, methods};
PyMODINIT_FUNC PyInit__k(void) { return PyModule_Create(&module); }
"""
TESTS = """
import fastk
def test_work(benchmark):
    assert benchmark(fastk.work, 2000) == 2
def test_plain(benchmark):
    assert benchmark(fastk.plain) == 3
"""
IN_PLACE = "python setup.py -q build_ext --inplace"
INSTALLED = "pip install -q --no-build-isolation --no-deps ."
EDITABLE = "pip install -q --no-build-isolation --no-deps -e ."


def create(folder):
    (folder / "fastk").mkdir(parents=True)
    (folder / "benchmarks").mkdir()
    (folder / ".gitignore").write_text("*.so\nbuild\n*.egg-info\n__pycache__\n.benchmarks\n.cache\n")
    (folder / "setup.py").write_text(SETUP)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "benchmarks" / "test_k.py").write_text(TESTS)
    (folder / "fastk" / "__init__.py").write_text("from ._k import work\ndef plain(): return 3\n")
    for name, source in {
        "v1": SOURCE,
        "v2": f"/* A comment. */\n\n{SOURCE}",
        "v3": SOURCE.replace("weigh(1.0, ", "weigh(1.0, PyLong_AsLong(steps) / 5 + "),
    }.items():
        (folder / "fastk" / "k.c").write_text(source)
        commit_all(folder, name)
        git(folder, "tag", name)
    return folder
