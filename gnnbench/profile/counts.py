"""Counts what one call does in each range: operators, host-device synchronisations, sorts and copies."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..measure.counters import OperatorMode, kinds, library_calls
from ..measure.garbage import collector_paused
from .ranges import Ranges
from .record import COUNTS
from .subject import Subject
from .targets import LAYERS, PHASES
from .tree import ROOT

_SORTS = ("aten::sort", "aten::_unique2", "aten::unique_dim", "aten::_coalesce")
"""Operators that sort their input; `argsort` calls `sort`. Some conversions of a sparse matrix sort as
well."""
_CONVERSIONS = ("aten::_to_sparse", "aten::_to_sparse_csc", "aten::_to_sparse_csr")

_GATHERS = ("aten::index_select", "aten::index", "aten::gather")
_SCATTERS = (
    "aten::index_add",
    "aten::index_add_",
    "aten::scatter_add",
    "aten::scatter_add_",
    "aten::scatter_reduce",
    "aten::scatter_reduce_",
)


def take(subject: Subject, folder: Path) -> dict[str, Any]:  # noqa: ARG001
    """Call once and count; nothing is timed or written. A call before must have filled all caches.

    Returns:
        Rows of each kind in order of first appearance. Each has `path`, the open ranges, and `count`:

        - `ranges`: how often each was opened.
        - `operators` and `library_calls`: their sums are those of gnnbench.measure.counters.
        - `host_reads` and `mask_reads`: the same, but only for memory of the device. They include the
          elements that torch.tensor reads from a list of tensors, which a dispatch mode does not see.
        - `sorts`, and `copies` between devices with their `bytes`.
        - `gathers` and `scatters` of feature rows, for example from nodes to edges and back.

        Reads, sorts and copies have a `caller`: the innermost Python function outside torch, as
        `file:line function`, or `the benchmark`.
    """
    ranges = Ranges((*PHASES, *LAYERS), subject.device, functions=True)
    seen = _Seen(ranges, subject.device)
    with (
        collector_paused(),
        ranges,
        ranges.range(ROOT),
        _Elements(seen),
        OperatorMode(seen.operator),
        library_calls(seen.library_call),
    ):
        subject.call()
    seen.counts["ranges"] = Counter({(row.path,): row.calls for row in ranges.times()})
    return {kind: seen.rows(kind) for kind in COUNTS}


class _Seen:
    """Counts the calls that the modes report."""

    def __init__(self, ranges: Ranges, device: str) -> None:
        self.counts: dict[str, Counter[tuple[Any, ...]]] = {kind: Counter() for kind in COUNTS}
        self._bytes: Counter[tuple[Any, ...]] = Counter()
        self._ranges = ranges
        self._device = device

    def add(self, kind: str, *key: Any, count: int = 1) -> None:
        self.counts[kind][self._ranges.path, *key] += count

    def rows(self, kind: str) -> list[dict[str, Any]]:
        rows = []
        for key, count in self.counts[kind].items():
            row = {**dict(zip(COUNTS[kind], key, strict=True)), "path": list(key[0]), "count": count}
            rows.append({**row, "bytes": self._bytes[key]} if kind == "copies" else row)
        return rows

    def library_call(self, name: str, _args: tuple[Any, ...]) -> None:
        self.add("library_calls", name)

    def operator(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        for kind, counted, number in kinds(name, args, kwargs, result):
            match kind:
                case "operators":
                    self.add(kind, counted)
                case "copied_bytes":
                    self._bytes[self._ranges.path, counted, _caller()] += number
                case "copies":
                    self.add(kind, counted, _caller())
                case _ if self.is_on_device(args):  # the host does not wait to read its own memory
                    self.add(kind, counted, _caller())
        if name in _SORTS or (name in _CONVERSIONS and args[0].layout != torch.strided):
            self.add("sorts", name, _caller())
        for kind, *moved in _moves(name, args, result):
            self.add(kind, name, *moved)

    def is_on_device(self, items: Any) -> bool:
        return any(isinstance(item, Tensor) and item.device.type == self._device for item in items)


class _Elements(TorchFunctionMode):
    """Counts the elements that torch.tensor reads from tensors in a list."""

    def __init__(self, seen: _Seen) -> None:
        super().__init__()
        self._seen = seen

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if function is torch.tensor or function is torch.as_tensor:
            elements = list(_elements(args[0])) if args and not isinstance(args[0], Tensor) else []
            if self._seen.is_on_device(elements):
                name = f"torch.{function.__name__}"
                self._seen.add("host_reads", name, _caller(), count=len(elements))
        return function(*args, **(kwargs or {}))


def _elements(data: Any) -> Iterator[Tensor]:
    if isinstance(data, Tensor):
        yield data
    elif isinstance(data, list | tuple):
        for item in data:
            yield from _elements(item)


def _moves(name: str, args: tuple[Any, ...], result: Any) -> Iterator[tuple[str, int, int, int]]:
    """Yield `gathers` or `scatters`, the number of input rows, of output rows, and of columns."""
    if name in _GATHERS:
        kind, source = "gathers", args[0]
    elif name in _SCATTERS:
        kind, source = "scatters", args[3]
    else:
        return
    if name == "aten::index":
        dimension = next(position for position, index in enumerate(args[1]) if index is not None)
    else:
        dimension = args[1]
    if source.dim() == result.dim() > 1 and source.is_floating_point():  # features, not weights or indices
        rows = result.size(dimension)
        yield kind, source.size(dimension), rows, result.numel() // max(rows, 1)


_BELOW = ("torch.", "dgl.backend.", f"{__package__}.", f"{OperatorMode.__module__}.")
"""Modules that are not callers: PyTorch, DGL's wrappers of PyTorch, and the counting code."""

_PACKAGE = __package__.rpartition(".")[0]
_BENCHMARK = tuple(f"{_PACKAGE}.{name}." for name in ("measure.clock", "measure.pedantic", "profile.hooks"))
"""Modules that call the benchmarked function, which may itself be one of torch."""


def _caller() -> str:
    """Return the innermost Python function outside `_BELOW`: `file:line function`, or `the benchmark`."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if f"{module}.".startswith(_BENCHMARK):
            return "the benchmark"
        if not f"{module}.".startswith(_BELOW):
            return f"{_file(module, frame)}:{frame.f_lineno} {frame.f_code.co_qualname}"
        frame = frame.f_back
    return "torch"  # on a GPU the backward pass runs in another thread


def _file(module: str, frame: FrameType) -> str:
    """Return a module's path, starting at its top-level package."""
    name = Path(frame.f_code.co_filename).name
    if module == "__main__":
        return name
    place = module.replace(".", "/")
    return f"{place}/{name}" if name == "__init__.py" else f"{place}.py"
