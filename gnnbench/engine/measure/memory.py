"""Allocated bytes and peak memory of one call, its launches on a GPU, and out-of-memory errors.

torch's profiler records every allocation and free of torch's allocators, in order. Sampling the resident set
size would miss short-lived arrays. Memory that other libraries allocate is not included: buffers of OpenMP,
scratchpads of oneDNN, DGL's own arrays. On CUDA, sizes are rounded up to blocks of 512 bytes.

torch_geometric.profile needs a torch.nn.Module, pytorch_memlab and a GPU, or reports the whole device.
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
_REQUEST = re.compile(r"\ballocate ([\d.]+) (bytes|[KMGTPE]iB)")
_LAUNCHES = ("kernel", "gpu_memcpy", "gpu_memset")
"""Categories of events in a trace that are launches."""
_SIZES = ("grid", "block", "shared memory", "bytes")
_UNKNOWN_LAUNCHES = ("triton", "numba", "cupy", "dgl")
"""Libraries that use one name for different kernels, or whose launches show no arguments in a trace."""
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


@dataclass(frozen=True)
class Memory:
    """Memory that one call allocated, including its output, without its inputs."""

    allocated_bytes: int
    """Sum of all allocations."""
    peak_bytes: int
    """Largest amount that the call had allocated and not yet freed."""


def trace(run: Callable[[], object], device: str) -> Memory:
    """Call a function, and return the memory that the call allocated."""
    with collector_paused():
        sizes = list(_sizes(run, device))
    return Memory(sum(size for size in sizes if size > 0), max(accumulate(sizes, initial=0)))


def gpu_events(run: Callable[[], object]) -> list[Any]:
    """Call a function, and return the profiler's events on all GPUs and streams."""
    return [event for event in _profile(run).events() if event.device_type.name == "CUDA"]


def launches(run: Callable[[], object]) -> tuple[str, ...]:
    """Call a function, and return its launches on the GPU in order, with grid, block and shared memory.

    Returns an empty tuple if one of _UNKNOWN_LAUNCHES is imported.
    """
    if not sys.modules.keys().isdisjoint(_UNKNOWN_LAUNCHES):
        return ()
    with NamedTemporaryFile(suffix=".json") as file:
        _profile(run).export_chrome_trace(file.name)
        events = json.loads(Path(file.name).read_bytes())["traceEvents"]
    events = sorted((event for event in events if event.get("cat") in _LAUNCHES), key=itemgetter("ts"))
    return tuple(f"{event['name']} {[event['args'].get(name) for name in _SIZES]}" for event in events)


def _profile(run: Callable[[], object]) -> torch.profiler.profile:
    """Call a function, and return the profile of its activity on GPUs."""
    quiet_profiler()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run()
        torch.cuda.synchronize()
    return profile


def quiet_profiler() -> None:
    """Keep the profiler of torch 2.13 from writing to stderr. Must be called before the first profile."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")


def _sizes(run: Callable[[], object], device: str) -> Iterator[int]:
    """Yield the sizes of a call's allocations, and negative sizes for their frees, in chronological order.

    Frees of memory from earlier calls are left out: a training step that frees the gradients of the previous
    step would seem to need less memory.
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

    The message is searched, because torch raises a RuntimeError on the CPU, and DGL its own error.
    """
    return isinstance(error, MemoryError) or any(text in str(error) for text in _OUT_OF_MEMORY)


def describe_out_of_memory(error: BaseException) -> str:
    """Return `OOM at N GiB` with the requested size, or `OOM` if the message has none."""
    match = _REQUEST.search(str(error))
    if match is None:
        return "OOM"
    gibibytes = float(match[1]) * 1024.0 ** (_UNITS.index(match[2]) - _UNITS.index("GiB"))
    return f"OOM at {gibibytes:.0f} GiB" if gibibytes >= 1000 else f"OOM at {gibibytes:.3g} GiB"  # noqa: PLR2004
