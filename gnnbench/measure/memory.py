"""Bytes that one call allocates and the most it holds at once; and running out of memory, in words.

torch's profiler records each allocation and each free of torch's allocators in order, which is exact: a
sampled resident set size would miss a temporary, and says pages. What a library allocates by itself is not
in it: OpenMP's buffers, oneDNN's scratchpads, DGL's own arrays. On CUDA blocks are of 512 bytes.

torch_geometric.profile has neither. Its `profileit` wants a module as the first argument, the package
pytorch_memlab and a GPU, and rounds to megabytes; `get_gpu_memory_from_nvidia_smi` starts nvidia-smi twice
and asks about the whole device, other processes and the allocator's cache included.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from torch._C._profiler import _EventType
from torch.autograd import profiler
from torch.profiler._utils import traverse_dfs

from .garbage import collector_paused

_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED", "std::bad_alloc")

# CUDA: Tried to allocate 22.78 GiB. CPU: you tried to allocate 4096 bytes. NumPy: Unable to allocate 2. PiB
_ASKED = re.compile(r"\ballocate ([\d.]+) (bytes|[KMGTPE]iB)")
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


@dataclass(frozen=True)
class Memory:
    """What one call asked of the allocator, its output included and its inputs not."""

    allocated_bytes: int
    """The sum of all allocations, however soon they were freed."""
    peak_bytes: int
    """The most that was held at once of what the call itself allocated."""


class Allocation(NamedTuple):
    """An allocation, or of fewer bytes than none a free."""

    at_ns: int
    size: int


def trace(run: Callable[[], object], device: str) -> Memory:
    """Call a function twice and return what the second call allocated on a device.

    The first fills caches.

    Args:
        run: the function.
        device: `cpu` or `cuda`: the type of the devices that are looked at.

    Raises:
        Exception: what the function raises, running out of memory included.
    """
    with collector_paused():
        sizes = [change.size for change in changes(record(run), device)]
    return Memory(sum(size for size in sizes if size > 0), max(accumulate(sizes, initial=0)))


def quiet_profiler() -> None:
    """Keep torch's profiler from writing two lines to stderr each time, as that of 2.13 does.

    It reads the variable when it is first used.
    """
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")


def record(run: Callable[[], object]) -> Any:
    """Call a function twice and return what torch's profiler recorded of the second call.

    Twice, as a free on the CPU is recorded only where its allocation was.
    """
    quiet_profiler()
    for _ in range(2):
        with profiler.profile(profile_memory=True) as profile:
            run()
    return profile.kineto_results


def changes(recorded: Any, device: str) -> Iterator[Allocation]:
    """Yield what a call allocated on a device, and the frees of that, in the order of time.

    A free of what was there before the call is left out. A training step frees the gradients of the step
    before it, and its forward pass would seem to hold so much less.

    Args:
        recorded: what `record` returned.
        device: `cpu` or `cuda`: the type of the devices that are looked at.
    """
    events = traverse_dfs(recorded.experimental_event_tree())
    memory = [event for event in events if event.tag == _EventType.Allocation]
    held = set()
    for event in sorted(memory, key=lambda event: event.start_time_ns):
        found = event.extra_fields
        if found.device.type != device:
            continue
        if found.alloc_size > 0:
            held.add(found.ptr)
        elif found.ptr in held:
            held.remove(found.ptr)
        else:
            continue
        yield Allocation(event.start_time_ns, found.alloc_size)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out: Python's and NumPy's, torch's on CPU and CUDA, or DGL's.

    By the text, as torch raises a RuntimeError on the CPU and DGL an error of its own. DGL does not always
    raise: an allocation of its own that fails on the CPU ends the process.
    """
    return isinstance(error, MemoryError) or any(text in str(error) for text in _OUT_OF_MEMORY)


def describe_out_of_memory(error: BaseException) -> str:
    """Return `OOM at N GiB`, N being what was asked for; `OOM` where the error does not say."""
    asked = _ASKED.search(str(error))
    if asked is None:
        return "OOM"
    gibibytes = float(asked[1]) * 1024.0 ** (_UNITS.index(asked[2]) - _UNITS.index("GiB"))
    return f"OOM at {gibibytes:.0f} GiB" if gibibytes >= 1000 else f"OOM at {gibibytes:.3g} GiB"  # noqa: PLR2004
