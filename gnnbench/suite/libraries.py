"""Lazy modules, which take long to import or may be missing: each is imported when it is first used.

    from ..libraries import torch, torch_scatter, utils

So `gnnbench list` and the collection of tests do not import torch, and an operation's functions call a
library as if its module had been imported at the top.
"""

import contextlib
import importlib
import io
import os
import sys
import warnings
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from ..engine.ground.packages import hidden

_SUITE = ("definitions", "inputs", "network", "sampled", "training")
"""Modules of gnnbench that import torch."""
_PLATFORMS = ("dgl", "pyg", "sparse", "torch")
_MODULES: Mapping[str, str] = {
    "functional": "torch.nn.functional",
    "gcn_conv": "torch_geometric.nn.conv.gcn_conv",
    "utils": "torch_geometric.utils",
    **{name: name for name in ("dgl", "torch", "torch_geometric", "torch_scatter", "torch_sparse")},
    **{f"pyg_{name}": f"torch_geometric.{name}" for name in ("data", "loader", "nn", "sampler")},
    **{name: f"{__package__}.{name}" for name in _SUITE},
    **{f"on_{name}": f"{__package__}.platforms.{name}" for name in _PLATFORMS},
}
"""The modules, by the name under which operations import them."""

STAND_IN = "dgl.graphbolt"
"""DGL's module for data loading, which message passing does not need. DGL 2.1.0 has binaries of it for torch
2.0 to 2.2 only. If none fits, an empty module stands in for it: see `import_dgl`."""


class Library(ModuleType):
    """Stands for a module until one of its attributes is used."""

    def __getattr__(self, name: str) -> Any:
        """Import the module, replace this object with it in the calling module, and return its attribute.

        Later uses find the imported module itself, so a timed function makes no additional calls.
        """
        if name.startswith("__"):
            raise AttributeError(name)
        module = import_dgl() if self.__name__ == "dgl" else importlib.import_module(self.__name__)
        user = sys._getframe(1).f_globals  # noqa: SLF001 - the names of the calling module
        user.update({alias: module for alias, value in user.items() if value is self})
        return getattr(module, name)


def __getattr__(name: str) -> Any:
    """Return the `Library` that stands for a module."""
    if name not in _MODULES:
        raise AttributeError(name)
    return Library(_MODULES[name])


def import_dgl() -> ModuleType:
    """Import DGL, even if its binaries are for an older PyTorch, and return the module.

    If the import fails, DGL is imported again with an empty module in the place of graphbolt.
    """
    if "dgl" in sys.modules:
        return sys.modules["dgl"]
    # If the variable is unset, DGL writes its choice of backend into the user's home folder.
    os.environ.setdefault("DGLBACKEND", "pytorch")
    # DGL imports ogb. If ogb finds `outdated`, its threads look for newer versions on the network.
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()), hidden("outdated"):
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module("dgl")
        except (ImportError, OSError):
            for name in [name for name in sys.modules if name.partition(".")[0] == "dgl"]:
                del sys.modules[name]
            sys.modules[STAND_IN] = ModuleType(STAND_IN)
            return importlib.import_module("dgl")


def uses_stand_in() -> bool:
    """Return whether the imported DGL runs without graphbolt."""
    return getattr(sys.modules.get(STAND_IN), "__file__", None) is None
