"""Bytes that one call allocates and the most it holds at once; and running out of memory, in words.

On a CPU torch's profiler records each allocation and each free of torch's allocator in order, which is
exact: a sampled resident set size would miss a temporary, and says pages. What a library allocates by itself
is not in it: OpenMP's buffers, oneDNN's scratchpads, DGL's own arrays. On CUDA the caching allocator keeps
these numbers itself, in blocks of 512 bytes.

torch_geometric.profile has neither. Its `profileit` wants a module as the first argument, the package
pytorch_memlab and a GPU, and rounds to megabytes; `get_gpu_memory_from_nvidia_smi` starts nvidia-smi twice
and asks about the whole device, other processes and the allocator's cache included.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch.autograd import profiler
from torch.autograd.profiler_util import MEMORY_EVENT_NAME

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
    """The most that was held at once, above what was held when the call began."""


def trace(run: Callable[[], object], device: str) -> Memory:
    """Call a function twice and return what the second call allocated on a device.

    The first fills caches, and leaves what the second may free: the gradients of a step before, say.

    Args:
        run: the function.
        device: `cpu` or `cuda`, whose current device is looked at.

    Raises:
        Exception: what the function raises, running out of memory included.
    """
    with collector_paused():
        return _cuda(run) if device == "cuda" else _cpu(run)


def quiet_profiler() -> None:
    """Keep torch's profiler from writing two lines to stderr each time, as that of 2.13 does.

    It reads the variable when it is first used.
    """
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")


def events(run: Callable[[], object]) -> list[Any]:
    """Call a function twice and return what torch's profiler saw of the second call, in the order of time.

    Twice, as a free on the CPU is recorded only where its allocation was. The events that MEMORY_EVENT_NAME
    names are allocations and frees, on any device.
    """
    quiet_profiler()
    for _ in range(2):
        with profiler.profile(profile_memory=True) as profile:
            run()
    assert profile.kineto_results is not None
    return list(profile.kineto_results.events())


def _cpu(run: Callable[[], object]) -> Memory:
    changes = [event.nbytes() for event in events(run) if event.name() == MEMORY_EVENT_NAME]
    return Memory(sum(size for size in changes if size > 0), max(accumulate(changes, initial=0)))


def _cuda(run: Callable[[], object]) -> Memory:
    run()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_stats()
    run()
    torch.cuda.synchronize()
    after = torch.cuda.memory_stats()
    return Memory(
        after["allocated_bytes.all.allocated"] - before["allocated_bytes.all.allocated"],
        after["allocated_bytes.all.peak"] - before["allocated_bytes.all.current"],
    )


def cuda_free_bytes() -> int:
    """Return what can be allocated on the current GPU: what the driver has free, and torch's cache of it."""
    free, _ = torch.cuda.mem_get_info()
    return int(free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated())


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
