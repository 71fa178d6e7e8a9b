import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from gnnbench.engine.measure.fingerprint import libraries as module
from gnnbench.engine.measure.fingerprint.libraries import libraries

NATIVE = """
#include <Python.h>
long linked(long);
static PyObject *add(PyObject *self, PyObject *value) {
    return PyLong_FromLong(linked(PyLong_AsLong(value)) + OWN);
}
static PyMethodDef methods[] = {{"add", add, METH_O, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "native", "", -1, methods};
PyMODINIT_FUNC PyInit_native(void) { return PyModule_Create(&module); }
"""
SCRIPT = """
import json, native
from gnnbench.engine.measure.fingerprint.libraries import libraries
print(json.dumps(dict(libraries(["native"]))))
"""


def built(folder, own, linked, names=("native",)):
    """Return the libraries of a module that links to another library, imported in a process of its own."""
    folder.mkdir(parents=True)
    (folder / "native.c").write_text(NATIVE)
    (folder / "linked.c").write_text("long linked(long value) { return value + OWN; }")
    (folder / "script.py").write_text(SCRIPT.replace('["native"]', str([*names])))
    links = [f"-I{sysconfig.get_paths()['include']}", "-L.", "-llinked", "-Wl,-rpath,$ORIGIN"]
    for words in (
        ["liblinked.so", f"-DOWN={linked}", "linked.c"],
        ["native.so", f"-DOWN={own}", "native.c", *links],
    ):
        subprocess.run(["cc", "-shared", "-fPIC", "-O0", "-o", *words], cwd=folder, check=True)
    return json.loads(subprocess.check_output([sys.executable, str(folder / "script.py")]))


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_a_swapped_library_differs(tmp_path):
    versions = enumerate([(1, 1), (1, 1), (2, 1), (1, 2)])
    base, same, own, linked = (built(tmp_path / str(number), *version) for number, version in versions)
    assert {"python", "native.so", "liblinked.so"} <= base.keys()
    assert same == base
    assert {name for name in base if own[name] != base[name]} == {"native.so"}
    assert {name for name in base if linked[name] != base[name]} == {"liblinked.so"}


def test_what_gnnbench_has_built_counts_whichever_module_its_types_name(tmp_path, monkeypatch):
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path))
    assert "native.so" in built(tmp_path / "builds" / "own", 1, 1, names=())
    assert "native.so" not in built(tmp_path / "other", 1, 1, names=())


def test_a_byte_more_is_seen(tmp_path, monkeypatch):
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "one.so"
    file.write_bytes(b"not a library")
    before = module._hash_and_links(file)
    assert module._hash_and_links(file) == before
    assert module._needed(file) == []
    file.write_bytes(b"not a library.")
    assert module._hash_and_links(file) != before
    file.unlink()
    assert module._hash_and_links(file) == ("missing", [])


def test_of_modules_those_in_c_count():
    assert Path(np.linalg._umath_linalg.__file__).name in libraries(["numpy"])
    assert libraries(["not_imported", "json"]).keys() == {"python"}
