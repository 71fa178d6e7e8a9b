import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from gnnbench.measure.fingerprint import libraries as module
from gnnbench.measure.fingerprint.libraries import libraries
from tests.measure.fingerprint import generated_package

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")


@pytest.fixture
def found(tmp_path):
    """Return the libraries of a generated package that is imported in a process of its own."""

    def found(own, linked):
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        generated_package.write({"__init__.py": ""}, folder, own, linked)
        script = (
            "import sys; sys.path.insert(0, sys.argv[1]); import generated.native, json\n"
            "from gnnbench.measure.fingerprint.libraries import libraries\n"
            "print(json.dumps(dict(libraries(['generated']))))"
        )
        printed = subprocess.run(
            [sys.executable, "-c", script, str(folder)], text=True, capture_output=True, check=True
        ).stdout
        return json.loads(printed)

    return found


def test_a_swapped_library_differs(found):
    base, same, own, linked = found(1, 1), found(1, 1), found(2, 1), found(1, 2)
    assert {"python", "native.so", "libgenerated_linked.so"} <= base.keys()
    assert same == base
    assert {name for name in base if own[name] != base[name]} == {"native.so"}
    assert {name for name in base if linked[name] != base[name]} == {"libgenerated_linked.so"}


def test_a_byte_more_is_seen(tmp_path, monkeypatch):
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "one.so"
    file.write_bytes(b"not a library")
    before = module._examined(file)
    assert module._examined(file) == before
    assert module._needed(file) == []
    file.write_bytes(b"not a library.")
    assert module._examined(file) != before
    file.unlink()
    assert module._examined(file) == ("missing", [])


def test_what_is_not_imported_has_no_libraries():
    assert libraries(["not_imported", "json"]).keys() == {"python"}


def test_extension_modules_that_a_call_uses_come_first():
    name = np.linalg._umath_linalg.__name__
    found = module.extension_modules({"numpy", "math"}, {name})
    assert next(iter(found)) == name
    assert found[name] == Path(np.linalg._umath_linalg.__file__).name
    assert {one.partition(".")[0] for one in found} == {"numpy"}, "no module of the standard library"
    assert {*found.values()} <= libraries(["numpy"]).keys()


def test_without_a_list_of_the_process_s_files_extension_modules_are_known(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_MAPPED", tmp_path / "maps")
    assert Path(np.linalg._umath_linalg.__file__) in module.loaded.__wrapped__(0)
