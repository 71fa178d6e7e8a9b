"""The libraries whose kernels are timed, one module each, with the same operation names.

This package itself imports none of them; `load` does.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from ...packages import install_command

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ..case import Case
    from ..operation import Kernel


@dataclass(frozen=True)
class Platform:
    """A library, or a way of using one."""

    name: str
    title: str
    packages: tuple[str, ...]
    also: tuple[str, ...] = ()
    """Packages that it does without, and calls where they are installed."""


PLATFORMS: Mapping[str, Platform] = {
    platform.name: platform
    for platform in (
        Platform("pyg", "PyG on edge_index", ("torch_geometric",), also=("torch_scatter", "torch_sparse")),
        Platform(
            "sparse",
            "PyG and torch_sparse on SparseTensor",
            ("torch_geometric", "torch_scatter", "torch_sparse"),
        ),
        Platform("torch", "plain PyTorch on sparse CSR", ("torch",)),
        Platform("dgl", "DGL", ("dgl",)),
    )
}


class PlatformModule(Protocol):
    """What each module of this package offers."""

    TRANSPOSED_WEIGHT: bool
    """Whether layers keep their weight as [out, in]."""

    MODEL_CACHED: bool
    """Whether the model's layers are made with `cached`."""

    def structure(self, case: "Case") -> Any:
        """Make the graph as sparse products take it: a CSR tensor, a SparseTensor or a DGLGraph."""

    def entries(self, output: Any) -> "Tensor | None":
        """Return a graph's int64 [2, M] targets and sources, in its own order; None for a dense output."""

    def values(self, output: Any) -> "Tensor":
        """Return the part of an output that has a gradient."""

    def layer(self, weight: "Tensor", bias: "Tensor", *, cached: bool) -> "nn.Module":
        """Make the platform's graph convolution from weight [in, out] and bias [out]."""

    def convolution(self, *, cached: bool) -> "Kernel":
        """Return how such a layer is applied: `run` takes a structure, the layer and x [N, in]."""


def why_not_on(name: str, device: str) -> str | None:
    """Say why an installed library cannot work on a device, and what to do; imports it.

    On CUDA: pip builds torch_sparse without where it finds no nvcc, and DGL's package on the index is for the
    CPU.
    """
    if device != "cuda":
        return None
    if name == "sparse":
        import torch
        import torch_scatter  # noqa: F401 - registers its operators
        import torch_sparse  # noqa: F401

        packages = ("torch_scatter", "torch_sparse")
        without = " ".join(name for name in packages if getattr(torch.ops, name).cuda_version() < 0)
        again = f"pip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps {without}"
        return f"{without} built without CUDA: {again}, with nvcc on the PATH" if without else None
    if name == "dgl":
        from .dgl import dgl

        if not dgl.ndarray.gpu(0).exist:
            return f"dgl is built without CUDA: {install_command('dgl', device)}"
    return None


def load(name: str) -> PlatformModule:
    """Import one platform's module, and with it the library."""
    return cast("PlatformModule", importlib.import_module(f".{name}", __package__))
