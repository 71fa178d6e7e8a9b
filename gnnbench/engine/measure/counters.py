"""Counts the operators, copies, library calls and Python calls of a call.

With the same versions of the libraries, the counts are the same on every machine and under any load.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, Self, cast

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from .conditions import collector_paused, compilations, reset_compiler
from .counter_changes import PYTHON_CALLS, Counters
from .fingerprint.fingerprint import Recordings
from .fingerprint.recording import python_calls
from .memory import gpu_events, trace

HOST_READS = (
    "aten::_local_scalar_dense",
    "aten::_coalesce",
    "aten::_linalg_check_errors",
    "aten::_linalg_eigh",
    "aten::_linalg_svd",
    "aten::_to_sparse",
    "aten::_to_sparse_csc",
    "aten::_to_sparse_csr",
    "aten::_unique2",
    "aten::allclose",
    "aten::bincount",
    "aten::equal",
    "aten::masked_select",
    "aten::nonzero",
    "aten::segment_reduce",
    "aten::unique_consecutive",
    "aten::unique_dim",
)
"""Operators after which the host waits for the device, because it needs the result or the size of the result.

`repeat_interleave` without an `output_size` and blocking copies from and to the CPU are counted too. On a
GPU, `tolist` and `cpu` are such copies. Indexing with a mask also synchronises; it is counted separately, as
`mask_reads`, because the operator's name is the same without a mask.
"""

_INDEXED = ("aten::index", "aten::index_put", "aten::index_put_")

OnOperator = Callable[[str, tuple[Any, ...], Mapping[str, Any], Any], None]
"""Gets an operator's name, positional and keyword arguments, and result."""

_KINDS = ("operators", "copies", "copied_bytes", "library_calls", "python_calls")
_DETAILS = ("host_reads", "mask_reads", "kernels")


def count(run: Callable[[], object], device: str = "cpu", recordings: Recordings | None = None) -> Counters:
    """Call a function several times in two passes, and return the counts on which both passes agree.

    Compilation is counted in the first calls, and memory in the first and the last calls. A TorchDispatchMode
    below autograd counts operators, including those of the backward pass and of compiled code. This mode
    runs Python code itself, so Python calls are counted in a separate call.
    """
    with collector_paused():  # finalisers would be counted
        with recordings.time_call() if recordings else nullcontext():
            reset_compiler()
            run()  # this call and the traced one show recompilations, and fill caches
            memory = trace(run, device)
        compiled = compilations()
        first, second = _pass(run, device, recordings), _pass(run, device, recordings)
        peaks = memory.peak_bytes, trace(run, device).peak_bytes
    names = {(kind, name) for counts in (first, second) for kind in counts for name in counts[kind]}
    unsteady = sorted(name for kind, name in names if first[kind].get(name) != second[kind].get(name))
    steady = {
        kind: {name: number for name, number in sorted(counts.items()) if name not in unsteady}
        for kind, counts in first.items()
    }
    steady["compilation"] = compiled
    details = {kind: steady.pop(kind) for kind in _DETAILS}
    details["memory"] = {
        "allocated_bytes": memory.allocated_bytes,
        "peak_bytes": max(peaks),
        "least_peak_bytes": min(peaks),
    }
    host_reads = sum(number for kind in ("host_reads", "mask_reads") for number in details[kind].values())
    return Counters(steady, host_reads, tuple(unsteady), details)


def _pass(run: Callable[[], object], device: str, recordings: Recordings | None) -> dict[str, Counter[str]]:
    """Call a function a few times, and return its counts by kind and name."""
    counts = {kind: Counter[str]() for kind in (*_KINDS, *_DETAILS)}

    with recordings.record() if recordings else nullcontext() as recording:

        def count_operator(*operator: Any) -> None:  # see OnOperator
            for kind, name, number in kinds(device, *operator):
                counts[kind][name] += number
            if recording:
                recording.operator(*operator)

        def count_library_call(name: str, args: tuple[Any, ...]) -> None:
            counts["library_calls"][name] += 1
            if recording:
                with _disable_current_modes():  # hashing a tensor runs operators too
                    recording.operator(name, args, {}, None)

        with OperatorMode(count_operator), library_calls(count_library_call):
            run()
        # A backward pass on a GPU would run in other threads, which a profile function does not see.
        with torch.autograd.set_multithreading_enabled(False) if recording else nullcontext():
            counts["python_calls"][PYTHON_CALLS] = python_calls(run, recording.profile if recording else None)
    if device == "cuda":
        # Annotations (record_function), which optimisers make, also appear as events of the GPU.
        events = (event for event in gpu_events(run) if not getattr(event, "is_user_annotation", False))
        counts["kernels"].update(event.name for event in events)
    return counts


class OperatorMode(TorchDispatchMode):
    """Calls `on_operator` after each dispatched operator."""

    _is_hidden = False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Let compiled code run under this mode. Older versions of dynamo run the code eagerly instead."""
        return True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return cls._is_hidden

    def __new__(cls, *_: OnOperator) -> Self:
        """Return a mode. If dynamo is imported, the mode is hidden from it. Importing it takes a second."""
        return super().__new__(cast("type[Self]", _Hidden) if "torch._dynamo" in sys.modules else cls)

    def __init__(self, on_operator: OnOperator) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._on_operator = on_operator

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        self._on_operator(function._schema.name, args, kwargs or {}, result)  # noqa: SLF001 - the name without overload
        return result


class _Hidden(OperatorMode):
    _is_hidden = True
    __torch_dispatch__ = OperatorMode.__torch_dispatch__


def kinds(
    device: str, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any
) -> Iterator[tuple[str, str, int]]:
    """Yield the counts that a call of an operator increases: kind and name (see `Counters`), and by how much.

    Except for copies, `host_reads` and `mask_reads` are increased only if an argument is on the device.
    """
    yield "operators", name, 1
    if is_on_device(device, args):
        if name in HOST_READS or (name == "aten::repeat_interleave" and kwargs.get("output_size") is None):
            yield "host_reads", name, 1
        if name in _INDEXED and any(index is not None and index.dtype == torch.bool for index in args[1]):
            yield "mask_reads", name, 1
    if name in ("aten::_to_copy", "aten::copy_"):
        source = args[1] if name == "aten::copy_" else args[0]
        if source.device != result.device:
            direction = f"{source.device.type}→{result.device.type}"
            yield "copies", direction, 1
            yield "copied_bytes", direction, result.nbytes
            waits = not (kwargs.get("non_blocking") or args[2:] == (True,))  # positional in copy_
            if waits and "cpu" in (source.device.type, result.device.type):
                yield "host_reads", direction, 1


def is_on_device(device: str, items: Any) -> bool:
    """Return whether one of the items is a tensor on a device of this type."""
    return any(isinstance(item, torch.Tensor) and item.device.type == device for item in items)


@contextmanager
def library_calls(on_call: Callable[[str, tuple[Any, ...]], None]) -> Iterator[None]:
    """Return a context that reports calls of operators outside ATen and of DGL's C functions to `on_call`.

    torch_sparse and torch_scatter call their operators through `torch.ops`. A dispatch mode does not see the
    ATen operators that these call. DGL's C functions are objects named `_CAPI_...` in the modules of DGL.
    """
    packet = torch._ops.OpOverloadPacket  # noqa: SLF001 - the type of torch.ops.torch_sparse.spmm_sum
    call = packet.__call__
    running: list[Any] = []

    def call_operator(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        is_repeat = running[-1:] == [self]  # a TorchFunctionMode calls the same operator again
        if not is_repeat and not self._qualified_op_name.startswith("aten::"):
            on_call(self._qualified_op_name, args)
        running.append(self)
        try:
            return call(self, *args, **kwargs)
        finally:
            running.pop()

    def wrap(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call_function(*args: Any) -> Any:
            on_call(f"dgl::{name}", args)
            return function(*args)

        return call_function

    interface = [
        (vars(module), name, function)
        for module_name, module in list(sys.modules.items())
        if module_name.partition(".")[0] == "dgl" and module is not None
        for name, function in list(vars(module).items())
        if name.startswith("_CAPI_")
    ]
    packet.__call__ = call_operator  # type: ignore[method-assign]
    for namespace, name, function in interface:
        namespace[name] = wrap(name.removeprefix("_CAPI_"), function)
    try:
        yield
    finally:
        packet.__call__ = call  # type: ignore[method-assign]
        for namespace, name, function in interface:
            namespace[name] = function
