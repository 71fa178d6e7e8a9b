"""The platforms: libraries, or alternative implementations in a library, with a module for each.

Each module defines `structure(case)`, which makes the graph for sparse products; `layer(weight, bias,
cached)`, which makes a graph convolution; `layer_graph(case)`, which makes the graph that layers take;
`apply(graph, layer, x)`; and `values(output)`, which returns a dense output, or the weights [M] of a graph.
Importing this package does not import any library; its functions do.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from ...engine.ground.packages import install_command, unusable

if TYPE_CHECKING:
    from torch import Tensor

    from ..case import Case
    from ..graphs.graph import Graph


@dataclass(frozen=True)
class Platform:
    """A library, or one of the implementations that it offers."""

    name: str
    title: str
    packages: tuple[str, ...]
    also: tuple[str, ...] = ()
    """Optional packages, which the platform calls if they are installed."""


_PYG, _COMPILED = "torch_geometric", ("torch_scatter", "torch_sparse")
PLATFORMS: Mapping[str, Platform] = {
    platform.name: platform
    for platform in (
        Platform("pyg", "PyG on edge_index", (_PYG,), _COMPILED),
        Platform("compiled", "PyG's models under torch.compile", (_PYG,), _COMPILED),
        Platform("pyg_lib", "PyG where it calls pyg-lib", (_PYG, "pyg_lib"), ("torch_scatter",)),
        Platform("sparse", "PyG and torch_sparse on SparseTensor", (_PYG, *_COMPILED)),
        Platform("torch", "plain PyTorch on sparse CSR", ("torch",)),
        Platform("dgl", "DGL", ("dgl",)),
    )
}

COMPARED = tuple(name for name in PLATFORMS if name not in ("compiled", "pyg_lib"))
"""On each of these, an operation has a call or a reason for having none; the others run PyG, too."""

Result = Callable[..., "Tensor | tuple[Tensor, ...]"]
"""Takes the output and the inputs of `run`; returns tensors in the form of the reference's output."""


class Kernel(NamedTuple):
    """One platform's implementation of an operation."""

    build: Callable[..., Any]
    """Takes a `Case` and returns the platform's graph structure; not timed."""
    run: Callable[..., Any]
    """The timed function; it takes the structure and the operation's tensors."""
    result: "Result | None" = None
    """Returns the part of the output to compare with the reference. If None, a dense output is compared, or
    the weights of a graph, entry by entry in any order."""


class Edges(NamedTuple):
    """Edges [2, E] and the number of nodes, as arguments of a library's functions."""

    edge_index: "Tensor"
    num_nodes: int

    @property
    def size(self) -> tuple[int, int]:
        """The size of the edges' adjacency matrix."""
        return self.num_nodes, self.num_nodes


class Chosen(NamedTuple):
    """A graph, and the nodes [n] that an operation works on, or several tensors of nodes."""

    graph: Any
    nodes: Any


def chosen(build: Callable[..., Any], nodes: "Callable[[Graph], Any]", case: "Case") -> Chosen:
    """Return a graph made by `build`, and nodes on the graph's device."""
    from torch.utils._pytree import tree_map

    graph = build(case)
    return Chosen(graph, tree_map(lambda part: part.to(case.device, case.index_dtype), nodes(case.graph)))


def why_not_on(name: str, device: str) -> str | None:
    """Import a library; return why it cannot work on a device and what to do. Returns None if it can work.

    Without nvcc, pip builds torch_sparse for the CPU only; DGL on the package index is for the CPU only, too.
    """
    if name == "pyg_lib":  # if it cannot be imported, PyG runs without it
        return unusable("pyg_lib")
    if device != "cuda":
        return None
    if name == "sparse":
        import torch
        import torch_scatter  # noqa: F401 - registers its operators
        import torch_sparse  # noqa: F401

        packages = ("torch_scatter", "torch_sparse")
        libraries = " ".join(name for name in packages if getattr(torch.ops, name).cuda_version() < 0)
        command = f"pip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps {libraries}"
        return f"{libraries} built without CUDA: {command}, with nvcc on the PATH" if libraries else None
    if name == "dgl":
        from ..libraries import import_dgl

        if not import_dgl().ndarray.gpu(0).exist:
            return f"dgl is built without CUDA: {install_command('dgl', device)}"
    return None


_PYG_LIB = ("PYG_LIB", "SOFTMAX", "INDEX_SORT", "SEGMM", "GMM", "METIS")
"""Parts of pyg-lib that PyG calls if it is installed: names of the switches in torch_geometric.typing."""


@contextmanager
def without_pyg_lib() -> Iterator[None]:
    """Make PyG run the code that it would run without pyg-lib."""
    from torch_geometric import typing

    switches = {name: getattr(typing, name) for name in (f"WITH_{feature}" for feature in _PYG_LIB)}
    vars(typing).update(dict.fromkeys(switches, False))
    try:
        yield
    finally:
        vars(typing).update(switches)


def load(name: str) -> ModuleType:
    """Import a platform's module and its library."""
    module = "pyg" if name in ("compiled", "pyg_lib") else name  # the same graphs and layers
    return importlib.import_module(f".{module}", __package__)
