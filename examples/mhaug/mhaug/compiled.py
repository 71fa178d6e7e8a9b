"""The optimised step as one compiled graph: torch.compile without graph breaks.

torch.compile does not accept sparse tensors (torch 2.13), but a custom operator that takes their arrays
works. The operator also compares the ranks: code generated for the CPU stores bools 20 times slower than
PyTorch's kernel.
"""

import inspect
from functools import cache, partial
from typing import Any

import torch
import torch._functorch.config
from torch import Tensor

from gnnbench.suite.operations.mh_aggregate import Blocks, Edges, blocks, by_csr, index_dtype

from . import optimised
from .settings import Settings

_SIZES = 64
"""Compiled graphs per process, one for each graph size."""

_library = torch.library.Library("gnnbench", "DEF")
# Not custom_op: on a small graph its wrapper costs as much as compiling saves.
_library.define(
    "apply(Tensor row_pointer, Tensor column, Tensor all_edges, Tensor all_nodes, "
    "Tensor edge_rank, Tensor node_rank, Tensor keep) -> (Tensor, Tensor, Tensor)"
)


def _apply(*tensors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    *arrays, edge_rank, node_rank, keep = tensors
    return optimised.apply(partial(by_csr, Blocks(*arrays)), edge_rank, node_rank, keep)


_library.impl("apply", _apply, "CompositeExplicitAutograd")


@torch.library.register_fake("gnnbench::apply", lib=_library)  # type: ignore[untyped-decorator]
def _(*tensors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    _, _, all_edges, all_nodes, *_ = tensors
    kept_edges, kept_nodes = (torch.empty_like(ones, dtype=torch.bool) for ones in (all_edges, all_nodes))
    return kept_edges, kept_nodes, all_nodes.new_empty(2, len(all_nodes))


def _compile(function: Any, options: dict[str, Any]) -> Any:
    """Compile without graph breaks, for each size; before torch 2.13 for at most eight sizes."""
    compile_it: Any = torch.compile
    known = inspect.signature(compile_it).parameters
    limit = {"recompile_limit": _SIZES} if "recompile_limit" in known else {}
    # As in operations/compiled.py: with this cache each call has a Python call more.
    torch._functorch.config.enable_autograd_cache = False  # noqa: SLF001
    return compile_it(function, fullgraph=True, dynamic=False, options=options, **limit)


def by_operator(
    blocks: Blocks, edge_rank: Tensor, node_rank: Tensor, keep: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Drop and aggregate in the operator `gnnbench::apply`; see `optimised.apply` and `by_csr`."""
    found: tuple[Tensor, Tensor, Tensor] = torch.ops.gnnbench.apply(*blocks, edge_rank, node_rank, keep)
    return found


def prepare(edges: Edges, settings: Settings) -> optimised.Fixed:
    """Return what all proposals share."""
    return optimised.prepare(edges, settings, partial(by_operator, blocks(edges, index_dtype(edges))))


@cache
def propose() -> Any:
    """Return `optimised.propose`, compiled for each number of nodes and edges.

    The options: the result of a few operations is stored rather than recomputed in each pass over the nodes
    (Inductor would fuse up to 30 operations into their reader). Loops of fewer than 16,384 elements use one
    thread. Replaced globals are not checked; on Cora that check took a tenth of a proposal's time.
    """
    options: dict[str, Any] = {
        "realize_opcount_threshold": 8,
        "cpp.min_chunk_size": 16384,
        "guard_filter_fn": torch.compiler.skip_guard_on_globals_unsafe,
    }
    return _compile(optimised.propose, options)
