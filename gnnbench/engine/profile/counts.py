"""Counts what one call does in each range: operators, host-device synchronisations, sorts and copies."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..ground.parts import tensors
from ..measure.conditions import collector_paused
from ..measure.counters import OperatorMode, is_on_device, kinds, library_calls
from .kinds import ROOT, Subject
from .ranges import Ranges
from .record import Counts
from .targets import LAYERS

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
    """Call once and count, as a `record.Counts`. A call before must have filled all caches."""
    ranges = Ranges(LAYERS, subject.device)
    seen = _Seen(ranges, subject.device)
    with (
        subject.ready() as call,
        collector_paused(),
        ranges,
        ranges.range(ROOT),
        _Elements(seen),
        OperatorMode(seen.operator),
        library_calls(seen.library_call),
    ):
        call()
    return {
        **{kind: seen.rows(kind) for kind in Counts.__annotations__},
        "ranges": [{"path": list(row.path), "count": row.calls} for row in ranges.times()],
    }


class _Seen:
    """Counts the calls that the modes report."""

    def __init__(self, ranges: Ranges, device: str) -> None:
        self._rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._ranges = ranges
        self.device = device

    def add(self, kind: str, count: int = 1, **fields: Any) -> dict[str, Any]:
        path = self._ranges.path
        new = {"path": list(path), **fields, "count": 0}
        row = self._rows.setdefault((kind, path, *fields.values()), new)
        row["count"] += count
        return row

    def rows(self, kind: str) -> list[dict[str, Any]]:
        return [row for (found, *_), row in self._rows.items() if found == kind]

    def library_call(self, name: str, _args: tuple[Any, ...]) -> None:
        self.add("library_calls", name=name)

    def operator(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        for kind, counted, _ in kinds(self.device, name, args, kwargs, result):
            if kind == "operators":
                self.add(kind, name=counted)
            elif kind == "copies":
                row = self.add(kind, direction=counted, caller=_caller())
                row["bytes"] = row.get("bytes", 0) + result.nbytes
            elif kind != "copied_bytes":
                self.add(kind, name=counted, caller=_caller())
        if name in _SORTS or (name in _CONVERSIONS and args[0].layout != torch.strided):
            self.add("sorts", name=name, caller=_caller())
        if name in _GATHERS:
            self._move("gathers", name, args[0], args, result)
        elif name in _SCATTERS:
            self._move("scatters", name, args[3], args, result)

    def _move(self, kind: str, name: str, source: Tensor, args: tuple[Any, ...], result: Tensor) -> None:
        if name == "aten::index":
            dimension = next(position for position, index in enumerate(args[1]) if index is not None)
        else:
            dimension = args[1]
        if source.dim() == result.dim() > 1 and source.is_floating_point():  # features, not weights
            rows = result.size(dimension)
            columns = result.numel() // max(rows, 1)
            self.add(kind, name=name, from_rows=source.size(dimension), to_rows=rows, columns=columns)


class _Elements(TorchFunctionMode):
    """Counts the elements that torch.tensor reads from tensors in a list."""

    def __init__(self, seen: _Seen) -> None:
        super().__init__()
        self._seen = seen

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if function is torch.tensor or function is torch.as_tensor:
            elements = list(tensors(args[0])) if args and not isinstance(args[0], Tensor) else []
            if is_on_device(self._seen.device, elements):
                name = f"torch.{function.__name__}"
                self._seen.add("host_reads", len(elements), name=name, caller=_caller())
        return function(*args, **(kwargs or {}))


_BELOW = ("torch.", "dgl.backend.", f"{__package__}.", f"{OperatorMode.__module__}.")
"""Modules that are not callers: PyTorch, DGL's wrappers of PyTorch, and the counting code."""


def _caller() -> str:
    """Return the innermost Python function outside `_BELOW`: `file:line function`, or `the benchmark`."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if frame.f_code is take.__code__:  # the benchmarked function may itself be one of torch
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
