"""Installs a side's import finder in Python processes that a benchmark starts.

Then runs the user's own `sitecustomize`, if there is one, because this file hides it from Python.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib import module_from_spec
from _frozen_importlib_external import PathFinder, spec_from_file_location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOTS = os.path.join(os.path.dirname(_HERE), "import_roots.py")


def _load(spec: ModuleSpec | None) -> Any:
    """Import the module of a spec, and return it."""
    assert spec
    assert spec.loader
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _HERE]
_roots = _load(spec_from_file_location("gnnbench_import_roots", _ROOTS))
if os.path.exists(_file := os.environ.get(_roots.SIDE, "")):
    _roots.Trees.read(_file).install()
for _name in os.environ.get(_roots.HIDDEN, "").split():
    sys.modules[_name] = None  # type: ignore[assignment]
if _hidden := PathFinder.find_spec("sitecustomize", sys.path):
    _load(_hidden)
