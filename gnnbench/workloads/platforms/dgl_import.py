"""How `import dgl` is made to work with newer PyTorch."""

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
"""DGL's data-loading part. DGL 2.1.0 ships its binaries for torch 2.0 to 2.2 and no others, and fails to
import where they are not found; message passing does not use it."""


def import_dgl() -> Any:
    """Import DGL, with an empty module in the place of graphbolt if the plain import fails for want of it.

    Returns:
        the module `dgl`.
    """
    if "dgl" in sys.modules:
        return sys.modules["dgl"]
    # Without it DGL writes a choice of backend into the user's home.
    os.environ.setdefault("DGLBACKEND", "pytorch")
    # DGL imports ogb, which does without `outdated`; with it, threads ask the network for newer versions.
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
    """Tell whether DGL, once imported, runs without its graphbolt."""
    return getattr(sys.modules.get(STAND_IN), "__file__", None) is None
