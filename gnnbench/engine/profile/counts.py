"""Counts operators, synchronisations, sorts and copies in each range, which is a named part of a call."""

import sys
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..ground.parts import tensors
from ..measure.counters import OperatorMode, is_on_device, kinds, library_calls
from .kinds import ROOT, Subject, place
from .ranges import Ranges
from .targets import LAYERS

_KINDS = "ranges operators library_calls host_reads mask_reads sorts copies copied_bytes"
_SORTS = ("aten::sort", "aten::_unique2", "aten::unique_dim", "aten::_coalesce")
"""Operators that sort their input. `argsort` is not listed, because it calls `sort`."""
_CONVERSIONS = ("aten::_to_sparse", "aten::_to_sparse_csc", "aten::_to_sparse_csr")
_NOT_CALLERS = ("torch.", "dgl.backend.", f"{__package__}.", f"{OperatorMode.__module__}.")
"""Modules that are never named as a caller: PyTorch, DGL's wrappers of PyTorch, and the counting code."""


def counts(subject: Subject) -> dict[str, Any]:
    """Count the work of one call, as measure/counters.py does. An earlier call must have filled all caches.

    Returns:
        Rows by kind, in order of first appearance; each has the `path` of its range, and `count`. All but
        ranges have a `name`, such as `cpu→cuda` for copies. Reads, sorts and copies have a `caller`: the
        innermost Python function outside torch, as `file:line function`, or `the benchmark`. `host_reads`
        include the elements that torch.tensor reads from a list of tensors; no dispatch mode sees these.
    """
    counter = _Counter(subject.device)
    with (
        subject.ready() as call,
        counter.ranges,
        counter.ranges.range(ROOT),
        counter,
        OperatorMode(counter.operator),
        library_calls(counter.library_call),
    ):
        call()
    for path, (calls, _, _) in counter.ranges.times().items():
        counter.rows["ranges"].append({"path": list(path), "count": calls})
    return counter.rows


class _Counter(TorchFunctionMode):
    """Collects the counts of the other modes, and counts what torch.tensor reads from lists of tensors."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.ranges = Ranges(LAYERS, device)
        self.rows: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _KINDS.split()}
        self._by_key: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._device = device

    def add(self, kind: str, count: int = 1, **fields: str) -> None:
        """Add `count` to the row of this kind with these fields, in the open range."""
        key = kind, self.ranges.path, *fields.values()
        if key not in self._by_key:
            self._by_key[key] = {"path": list(self.ranges.path), **fields, "count": 0}
            self.rows[kind].append(self._by_key[key])
        self._by_key[key]["count"] += count

    def library_call(self, name: str, _args: tuple[Any, ...]) -> None:
        self.add("library_calls", name=name)

    def operator(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        """Count a call of an operator, and the synchronisations, sorts and copies in it."""
        for kind, label, number in kinds(self._device, name, args, kwargs, result):
            caller = {} if kind == "operators" else {"caller": _caller()}
            self.add(kind, number, name=label, **caller)
        if name in _SORTS or (name in _CONVERSIONS and args[0].layout != torch.strided):
            self.add("sorts", name=name, caller=_caller())

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if function is torch.tensor or function is torch.as_tensor:
            elements = list(tensors(args[0])) if args and not isinstance(args[0], Tensor) else []
            if is_on_device(self._device, elements):
                self.add("host_reads", len(elements), name=f"torch.{function.__name__}", caller=_caller())
        return function(*args, **(kwargs or {}))


def _caller() -> str:
    """Return the innermost function outside `_NOT_CALLERS`: `file:line function`, or `the benchmark`."""
    frame: Any = sys._getframe()  # noqa: SLF001
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if frame.f_code is counts.__code__:  # the benchmarked function may itself be one of torch
            return "the benchmark"
        if not f"{module}.".startswith(_NOT_CALLERS):
            return f"{place(frame.f_code.co_filename, frame.f_lineno)} {frame.f_code.co_qualname}"
        frame = frame.f_back
    return "torch"  # in the backward pass on a GPU, which runs in a thread without Python functions
