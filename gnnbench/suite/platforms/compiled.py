"""PyG under torch.compile: its graphs and layers, in code without graph breaks."""

from collections.abc import Callable

import torch
import torch._functorch.config
from torch import Tensor

from . import pyg
from .pyg import entries, layer, values  # noqa: F401 - see `load`


def compiled() -> Callable[..., Tensor]:
    """Return `pyg.apply`, which is compiled when it is first called.

    Each benchmark compiles for itself. With fullgraph a graph break is an error, and so is a ninth
    compilation of the function: without it torch.compile would go on uncompiled.
    """
    torch.compiler.reset()
    # A backward pass from this cache has a Python call more, so the first process would count otherwise.
    torch._functorch.config.enable_autograd_cache = False  # noqa: SLF001
    function: Callable[..., Tensor] = torch.compile(pyg.apply, fullgraph=True)
    return function
