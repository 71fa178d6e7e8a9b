"""Allocated bytes and peak memory of one call, and the recognition of out-of-memory errors.

torch's profiler records every allocation and free of torch's allocators, in order. Sampling the resident set
size would miss short-lived arrays. Memory that other libraries allocate is not included: buffers of OpenMP,
scratchpads of oneDNN, DGL's own arrays. On CUDA, sizes are rounded up to blocks of 512 bytes.

torch_geometric.profile needs a module, pytorch_memlab and a GPU, or reports the whole device.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import torch
from torch._C._profiler import _EventType
from torch.autograd import profiler
from torch.profiler._utils import traverse_dfs

from .conditions import collector_paused

_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED", "std::bad_alloc")

# CUDA: Tried to allocate 22.78 GiB. CPU: you tried to allocate 4096 bytes. NumPy: Unable to allocate 2. PiB
_ASKED = re.compile(r"\ballocate ([\d.]+) (bytes|[KMGTPE]iB)")
_LAUNCHES = ("kernel", "gpu_memcpy", "gpu_memset")
"""Categories of a trace's events."""
_SIZES = ("grid", "block", "shared memory", "bytes")
_UNSEEN = ("triton", "numba", "cupy", "dgl")
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


@dataclass(frozen=True)
class Memory:
    """Memory that one call allocated, with its output and without its inputs."""

    allocated_bytes: int
    """Sum of all allocations, freed or not."""
    peak_bytes: int
    """Largest amount that was allocated by the call and not yet freed."""


def trace(run: Callable[[], object], device: str) -> Memory:
    """Call a function, and return what the call allocated."""
    with collector_paused():
        sizes = list(_sizes(run, device))
    return Memory(sum(size for size in sizes if size > 0), max(accumulate(sizes, initial=0)))


def gpu_events(run: Callable[[], object]) -> list[Any]:
    """Call a function, and return the profiler's events of what it ran on any stream and GPU."""
    return [event for event in _profiled(run).events() if event.device_type.name == "CUDA"]


def launches(run: Callable[[], object]) -> tuple[str, ...]:
    """Call a function, and return its launches on the GPU in order, with grid, block and shared memory.

    Empty if a library is imported that compiles kernels of one name whatever they do, or whose calls show no
    values.
    """
    if not sys.modules.keys().isdisjoint(_UNSEEN):
        return ()
    with NamedTemporaryFile(suffix=".json") as file:
        _profiled(run).export_chrome_trace(file.name)
        events = json.loads(Path(file.name).read_bytes())["traceEvents"]
    events = sorted((event for event in events if event.get("cat") in _LAUNCHES), key=itemgetter("ts"))
    return tuple(f"{event['name']} {[event['args'].get(name) for name in _SIZES]}" for event in events)


def _profiled(run: Callable[[], object]) -> torch.profiler.profile:
    """Call a function, and return the profile of what it ran on a GPU."""
    quiet_profiler()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run()
        torch.cuda.synchronize()
    return profile


def quiet_profiler() -> None:
    """Keep the profiler of torch 2.13 from writing to stderr; call this before its first use."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")


def _sizes(run: Callable[[], object], device: str) -> Iterator[int]:
    """Yield the bytes of a call's allocations and of their frees, which are negative, in the order of time.

    Frees of older memory are left out. For example, a training step frees the gradients of the previous step,
    which would lower the memory of its forward pass.
    """
    quiet_profiler()
    with profiler.profile(profile_memory=True) as profile:
        run()
    events = traverse_dfs(profile.kineto_results.experimental_event_tree())
    memory = [event for event in events if event.tag == _EventType.Allocation]
    pointers = set[int]()
    for event in sorted(memory, key=lambda event: event.start_time_ns):
        block = event.extra_fields
        if block.device.type == device and (block.alloc_size > 0 or block.ptr in pointers):
            (pointers.add if block.alloc_size > 0 else pointers.remove)(block.ptr)
            yield block.alloc_size


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error of Python, NumPy, torch or DGL means that memory ran out.

    The message is searched, because torch raises a RuntimeError on the CPU, and DGL has its own error. If an
    allocation inside DGL fails on the CPU, the process may end without an exception.
    """
    return isinstance(error, MemoryError) or any(text in str(error) for text in _OUT_OF_MEMORY)


def describe_out_of_memory(error: BaseException) -> str:
    """Return `OOM at N GiB` with the requested size, or `OOM` if the message has none."""
    match = _ASKED.search(str(error))
    if match is None:
        return "OOM"
    gibibytes = float(match[1]) * 1024.0 ** (_UNITS.index(match[2]) - _UNITS.index("GiB"))
    return f"OOM at {gibibytes:.0f} GiB" if gibibytes >= 1000 else f"OOM at {gibibytes:.3g} GiB"  # noqa: PLR2004
