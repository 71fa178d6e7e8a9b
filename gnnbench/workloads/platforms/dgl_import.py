"""Imports DGL under newer versions of PyTorch."""

import contextlib
import importlib
import io
import os
import sys
import types
import warnings
from typing import Any

from ...packages import hidden

STAND_IN = "dgl.graphbolt"
"""DGL's data loading, which message passing does not use. DGL 2.1.0 has binaries of it for torch 2.0 to 2.2
only, and cannot be imported without them."""


def import_dgl() -> Any:
    """Import DGL and return the module; if that fails, import it with an empty module as graphbolt."""
    if "dgl" in sys.modules:
        return sys.modules["dgl"]
    # If it is unset, DGL writes its choice of backend into the user's home folder.
    os.environ.setdefault("DGLBACKEND", "pytorch")
    # DGL imports ogb. If ogb finds `outdated`, its threads look for newer versions on the network.
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()), hidden("outdated"):
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module("dgl")
        except (ImportError, OSError):
            for name in [name for name in sys.modules if name.partition(".")[0] == "dgl"]:
                del sys.modules[name]
            sys.modules[STAND_IN] = types.ModuleType(STAND_IN)
            return importlib.import_module("dgl")


def uses_stand_in() -> bool:
    """Return whether the imported DGL runs without graphbolt."""
    return getattr(sys.modules.get(STAND_IN), "__file__", None) is None
