"""What a call does, counted exactly: operators, copies, calls into libraries, Python calls.

Counts do not drift: they are the same on any machine with the same versions, whatever else runs there.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from types import FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .garbage import collector_paused
from .memory import Memory, quiet_profiler, trace

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
"""Operators whose result's value or size the host must know: on a GPU each of them waits for it.

Beside them, `repeat_interleave` without an `output_size`, and copies to the CPU that block; `tolist` and
`cpu` are seen as such, on a GPU only. Indexing with a mask waits too, but is counted apart: its name does not
tell.
"""

_COPIES = ("aten::_to_copy", "aten::copy_")
_INDEXED = ("aten::index", "aten::index_put", "aten::index_put_")

_HOOKS = ("torch._dynamo", "torch.compiler", "torch._jit_internal", "torch_geometric.hash_tensor")
"""Modules whose functions wrap PyTorch's once anything was compiled in a process or PyG was imported, or are
called by these wrappers (`is_scripting`): whether they run depends on what the process did before."""

Counts = dict[str, dict[str, int]]
"""Kind, name: how often."""

Seen = Callable[[str, tuple[Any, ...], Mapping[str, Any], Any], None]
"""Is called with an operator's name, arguments and result."""

_DETAILS = ("host_reads", "mask_reads", "kernels", "memory")


@dataclass(frozen=True)
class Counters:
    """The counts of one call."""

    counts: Counts
    """By kind: `operators` as PyTorch's dispatcher names them; `copies` between devices, and `copied_bytes`,
    as `cpu→cuda`; `library_calls` into the C interfaces of other libraries; `python_calls`; `compilation`,
    what torch.compile does. They hold on every machine with the same versions, and are gated."""
    unsteady: tuple[str, ...] = field(default=())
    """Names whose counts two passes did not agree on."""
    details: Counts = field(default_factory=dict, compare=False)
    """Likewise, not gated: `host_reads` and `mask_reads`, which of `operators` and `copies` a host waits for;
    and of this environment only the GPU's `kernels`, and `memory`: `allocated_bytes` and `peak_bytes`."""

    @property
    def operators(self) -> int:
        """Operators dispatched."""
        return sum(self.counts["operators"].values())

    @property
    def host_reads(self) -> int:
        """What a host would have to wait for, masks left out: see HOST_READS."""
        return sum(self.details["host_reads"].values())


def count(run: Callable[[], object], device: str = "cpu") -> Counters:
    """Call a function several times, counting something else each time; again; and compare the two rounds.

    What torch.compile does, and memory, is of the first calls alone.

    Operators are those a TorchDispatchMode sees, so below autograd, its backward pass included, and of
    compiled code what it asks the dispatcher for. The mode is Python, so Python calls are counted without it.

    Args:
        run: the function.
        device: `cpu` or `cuda`: where the function works.
    """
    with collector_paused():  # what it finalises would count
        memory, compilation = _from_cold(run, device)
        first, second = _pass(run, device), _pass(run, device)
    names = {(kind, name) for counts in (first, second) for kind in counts for name in counts[kind]}
    unsteady = sorted(name for kind, name in names if first[kind].get(name) != second[kind].get(name))
    steady = {
        kind: {name: number for name, number in sorted(counts.items()) if name not in unsteady}
        for kind, counts in first.items()
    }
    steady |= {"compilation": compilation, "memory": asdict(memory)}
    details = {kind: steady.pop(kind) for kind in _DETAILS}
    return Counters(steady, tuple(unsteady), details)


def _pass(run: Callable[[], object], device: str) -> Counts:
    counts: dict[str, Counter[str]] = defaultdict(Counter)

    def seen(*operator: Any) -> None:
        for kind, name, number in kinds(*operator):
            counts[kind][name] += number

    with OperatorMode(seen), library_calls(lambda name: counts["library_calls"].update([name])):
        run()
    python = _python_calls(run)
    kernels = _kernels(run) if device == "cuda" else {}
    return {
        **{kind: dict(counts[kind]) for kind in ("operators", "copies", "copied_bytes", "library_calls")},
        "python_calls": {"Python calls": python},
        **{kind: dict(counts[kind]) for kind in ("host_reads", "mask_reads")},
        "kernels": kernels,
    }


def _from_cold(run: Callable[[], object], device: str) -> tuple[Memory, dict[str, int]]:
    """Trace memory, and count what torch.compile does meanwhile: graphs, recompilations, breaks by reason.

    Cold, as compiled code does not say where it was broken: what the process has compiled is dropped. `trace`
    calls twice, which shows what compiles anew each time; by then what can be cached for the counts to come
    is. Dynamo takes long to load, and a function that does not compile does not load it.
    """
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()  # noqa: SLF001
        torch._dynamo.utils.counters.clear()  # noqa: SLF001
    memory = trace(run, device)
    if "torch._dynamo" not in sys.modules:
        return memory, {}
    compiled = torch._dynamo.convert_frame.FRAME_COMPILE_COUNTER  # noqa: SLF001 - by function: how often
    if not compiled:
        return memory, {}
    found = torch._dynamo.utils.counters  # noqa: SLF001
    counts = {"graphs": found["stats"]["unique_graphs"], "recompilations": compiled.total() - len(compiled)}
    for reason, number in found["graph_break"].items():
        name = f"graph break: {reason.splitlines()[0]}"  # below it are explanations and hints
        counts[name] = counts.get(name, 0) + number
    return memory, counts


def _kernels(run: Callable[[], object]) -> dict[str, int]:
    """Count what runs on the GPU, by name: kernels, and copies and fills of its memory."""
    quiet_profiler()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run()
        torch.cuda.synchronize()
    ran = (event for event in profile.events() if event.device_type.name == "CUDA")
    # A range of record_function, as optimisers open one, is shown on the GPU as well.
    return dict(Counter(event.name for event in ran if not getattr(event, "is_user_annotation", False)))


class OperatorMode(TorchDispatchMode):
    """Tells of each operator that PyTorch's dispatcher is asked for: see `kinds`."""

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Let compiled code run, which dynamo skips under a mode otherwise (and before this method)."""
        return True

    def __init__(self, seen: Seen) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._seen = seen

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        self._seen(function._schema.name, args, kwargs or {}, result)  # noqa: SLF001 - without the overload
        return result


def kinds(
    name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any
) -> Iterator[tuple[str, str, int]]:
    """Yield what one operator counts as: kind, name, and how many: see Counters."""
    yield "operators", name, 1
    if name in HOST_READS or (name == "aten::repeat_interleave" and kwargs.get("output_size") is None):
        yield "host_reads", name, 1
    if name in _INDEXED and any(index is not None and index.dtype == torch.bool for index in args[1]):
        yield "mask_reads", name, 1
    if name in _COPIES:
        source = args[1] if name == "aten::copy_" else args[0]
        if source.device != result.device:
            direction = f"{source.device.type}→{result.device.type}"
            yield "copies", direction, 1
            yield "copied_bytes", direction, result.nbytes
            waits = not (kwargs.get("non_blocking") or args[2:] == (True,))
            if waits and result.device.type == "cpu":
                yield "host_reads", direction, 1


@contextmanager
def library_calls(seen: Callable[[str], None]) -> Iterator[None]:
    """Tell of calls of operators outside PyTorch's own, by name, and of DGL's C interface.

    torch_sparse and torch_scatter call theirs through `torch.ops`; their operators call PyTorch's below the
    dispatcher's Python keys, which therefore never sees them. DGL's functions are objects `_CAPI_...` in the
    namespaces of its modules.
    """
    packet = torch._ops.OpOverloadPacket  # noqa: SLF001 - what torch.ops.torch_sparse.spmm_sum is
    call = packet.__call__
    calling: list[Any] = []

    def counted(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        handed_on = calling[-1:] == [self]  # a TorchFunctionMode calls again what it is told of
        if not handed_on and not self._qualified_op_name.startswith("aten::"):
            seen(self._qualified_op_name)
        calling.append(self)
        try:
            return call(self, *args, **kwargs)
        finally:
            calling.pop()

    def wrapped(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted_function(*args: Any) -> Any:
            seen(f"dgl::{name}")
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
        yield
    finally:
        packet.__call__ = call  # type: ignore[method-assign]
        for namespace, name, function in interface:
            namespace[name] = function


def _python_calls(run: Callable[[], object]) -> int:
    """Count calls of Python functions, but for those of _HOOKS.

    The call before fills caches that an import may have emptied: wherever a class is registered with an
    abstract one, as some modules do, Python forgets what is an instance of which.
    """
    calls = 0

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call" and not str(frame.f_globals.get("__name__")).startswith(_HOOKS)

    run()
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls
