"""What a call does, counted exactly: operators, copies, calls into libraries, Python calls.

Counts do not drift: they are the same on any machine with the same versions, whatever else runs there.
"""

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

HOST_READS = (
    "aten::_local_scalar_dense",
    "aten::equal",
    "aten::is_nonzero",
    "aten::masked_select",
    "aten::nonzero",
    "aten::_unique2",
    "aten::unique_consecutive",
    "aten::unique_dim",
)
"""Operators whose result's value or size the host must know: on a GPU each of them waits for it."""

_COPIES = ("aten::_to_copy", "aten::copy_")

Counts = dict[str, dict[str, int]]
"""Kind, name: how often."""


@dataclass(frozen=True)
class Counters:
    """The counts of one call."""

    counts: Counts
    """By kind: `operators` as PyTorch's dispatcher names them; `copies` between devices, and `copied_bytes`,
    as `cpu→cuda`; `library_calls` into the C interfaces of other libraries; `python_calls`."""
    unsteady: tuple[str, ...] = field(default=())
    """Names whose counts two passes did not agree on."""

    @property
    def operators(self) -> int:
        """Operators dispatched."""
        return sum(self.counts["operators"].values())

    @property
    def host_reads(self) -> int:
        """Operators that a host would have to wait for: see HOST_READS."""
        return sum(self.counts["operators"].get(name, 0) for name in HOST_READS)


def count(run: Callable[[], object]) -> Counters:
    """Call a function twice for each method of counting, after a pass that warms up, and compare.

    Operators are those a TorchDispatchMode sees, so below autograd, its backward pass included. Python calls
    are counted in passes of their own: the mode itself is Python.
    """
    # Caches fill: the libraries' in the first calls, those of isinstance on abstract classes while counting.
    _pass(run)
    first, second = _pass(run), _pass(run)
    names = {(kind, name) for counts in (first, second) for kind in counts for name in counts[kind]}
    unsteady = sorted(name for kind, name in names if first[kind].get(name) != second[kind].get(name))
    steady = {
        kind: {name: number for name, number in sorted(counts.items()) if name not in unsteady}
        for kind, counts in first.items()
    }
    return Counters(steady, tuple(unsteady))


def _pass(run: Callable[[], object]) -> Counts:
    collecting = gc.isenabled()
    gc.disable()  # what it finalises would count
    try:
        with _Operators() as seen, _library_calls() as library:
            run()
        python = _python_calls(run)
    finally:
        if collecting:
            gc.enable()
    return {
        "operators": dict(seen.operators),
        "copies": dict(seen.copies),
        "copied_bytes": dict(seen.copied_bytes),
        "library_calls": dict(library),
        "python_calls": {"Python calls": python},
    }


class _Operators(TorchDispatchMode):
    """Counts what PyTorch's dispatcher is asked for."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operators: Counter[str] = Counter()
        self.copies: Counter[str] = Counter()
        self.copied_bytes: Counter[str] = Counter()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name = function._schema.name  # noqa: SLF001 - there is no public name without the overload
        result = function(*args, **(kwargs or {}))
        self.operators[name] += 1
        if name in _COPIES:
            source = args[1] if name == "aten::copy_" else args[0]
            self._copied(source, result)
        return result

    def _copied(self, source: Tensor, target: Tensor) -> None:
        if source.device != target.device:
            direction = f"{source.device.type}→{target.device.type}"
            self.copies[direction] += 1
            self.copied_bytes[direction] += target.nbytes


@contextmanager
def _library_calls() -> Iterator[Counter[str]]:
    """Count calls of operators outside PyTorch's own, by name, and of DGL's C interface.

    torch_sparse and torch_scatter call theirs through `torch.ops`; their operators call PyTorch's below the
    dispatcher's Python keys, which therefore never sees them. DGL's functions are objects `_CAPI_...` in the
    namespaces of its modules.
    """
    calls: Counter[str] = Counter()
    packet = torch._ops.OpOverloadPacket  # noqa: SLF001 - what torch.ops.torch_sparse.spmm_sum is
    call = packet.__call__

    def counted(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not self._qualified_op_name.startswith("aten::"):
            calls[self._qualified_op_name] += 1
        return call(self, *args, **kwargs)

    def wrapped(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted_function(*args: Any) -> Any:
            calls[f"dgl::{name}"] += 1
            return function(*args)

        return counted_function

    interface = [
        (vars(module), name, function)
        for module_name, module in list(sys.modules.items())
        if module_name.partition(".")[0] == "dgl" and module is not None
        for name, function in list(vars(module).items())
        if name.startswith("_CAPI_")
    ]
    packet.__call__ = counted  # type: ignore[method-assign]
    for namespace, name, function in interface:
        namespace[name] = wrapped(name.removeprefix("_CAPI_"), function)
    try:
        yield calls
    finally:
        packet.__call__ = call  # type: ignore[method-assign]
        for namespace, name, function in interface:
            namespace[name] = function


def _python_calls(run: Callable[[], object]) -> int:
    calls = 0

    def profile(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls
