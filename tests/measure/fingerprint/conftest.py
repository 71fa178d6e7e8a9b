"""What the tests of fingerprints share."""

import importlib.util
import sys

import pytest

from gnnbench.measure.clock import Call
from gnnbench.measure.inspection import inspect


@pytest.fixture
def taken(tmp_path, monkeypatch):
    """Return the fingerprint of `run` in a source, in a folder of its own with other modules."""
    count = iter(range(100))

    def taken(source, *args, devices=(), **others):
        folder = tmp_path / f"checkout{next(count)}"
        folder.mkdir()
        monkeypatch.syspath_prepend(str(folder))
        for name in ("made", *others):
            monkeypatch.delitem(sys.modules, name, raising=False)
        for name, text in {**others, "made": source}.items():
            (folder / f"{name}.py").write_text(text)
        spec = importlib.util.spec_from_file_location("made", folder / "made.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "made", module)
        spec.loader.exec_module(module)
        found = inspect(Call(module.run, args, {}), devices)
        assert found.unseen is None
        return found.fingerprint

    return taken
