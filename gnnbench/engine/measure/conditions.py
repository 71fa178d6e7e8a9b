"""The conditions of a call: garbage collector, CPU threads, seeds, time limit, and state of torch.compile."""

import ctypes
import gc
import random
import re
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from .fingerprint.libraries import loaded

_REPEAT_SECONDS = 0.5
"""Time between repeated signals of the time limit: the call may catch the first TooLongError."""
_OPENMP = re.compile(r"lib[gi]?omp\d*[-.]")


@contextmanager
def collector_paused() -> Iterator[None]:
    """Turn off the garbage collector, which may free memory and run finalisers at any time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def cpu_threads(number: int | None) -> Iterator[None]:
    """Let libraries use `number` CPU threads within the context. None changes nothing.

    torch.set_num_threads sets the number of threads of MKL and of torch's OpenMP. Another library may
    have loaded a second OpenMP, as DGL does unless torch's has the file name to which DGL links.
    """
    if number is None:
        yield
        return
    import torch

    libs = [ctypes.CDLL(str(path)) for path in loaded(len(sys.modules)) if _OPENMP.match(path.name)]
    setters: list[Callable[[int], None]] = [torch.set_num_threads, *(lib.omp_set_num_threads for lib in libs)]
    counts = (torch.get_num_threads(), *(lib.omp_get_max_threads() for lib in libs))
    for setter in setters:
        setter(number)
    try:
        yield
    finally:
        for setter, threads in zip(setters, counts, strict=True):
            setter(threads)


def seed(number: int) -> None:
    """Seed the generators of Python, NumPy and, if imported, torch; `number` is below 2**32."""
    import numpy as np

    random.seed(number)
    np.random.seed(number)  # noqa: NPY002 - code under test may use this generator
    torch = sys.modules.get("torch")
    if torch and hasattr(torch, "manual_seed"):  # not while torch is being imported
        torch.manual_seed(number)


class TooLongError(BaseException):
    """A call takes too long. `except Exception` in the call does not catch this BaseException."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TooLongError after some seconds. Does nothing for None, in other threads, or next to a timer."""
    if (
        seconds is None
        or threading.current_thread() is not threading.main_thread()
        or any(signal.getitimer(signal.ITIMER_REAL))
    ):
        yield
        return

    def raise_error(_number: int, _frame: FrameType | None) -> None:
        raise TooLongError

    handler = signal.signal(signal.SIGALRM, raise_error)
    signal.setitimer(signal.ITIMER_REAL, seconds, _REPEAT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


def reset_compiler() -> None:
    """Drop the code that torch.compile made, so that the next call compiles and reports its graph breaks."""
    if dynamo := sys.modules.get("torch._dynamo"):  # if it is not imported, nothing was compiled
        dynamo.reset()
        clear_compilations()


def clear_compilations() -> None:
    """Reset the counters of torch.compile."""
    if dynamo := sys.modules.get("torch._dynamo"):
        dynamo.utils.counters.clear()


def compilations() -> dict[str, int]:
    """Return counts of torch.compile: graphs, recompilations, and graph breaks by reason; may be empty."""
    dynamo = sys.modules.get("torch._dynamo")
    graphs = dynamo and dynamo.utils.counters["stats"]["unique_graphs"]
    if not dynamo or not graphs:
        return {}
    compiled = dynamo.convert_frame.FRAME_COMPILE_COUNTER  # number of compilations by function
    counts = Counter({"graphs": graphs, "recompilations": compiled.total() - len(compiled)})
    for reason, number in dynamo.utils.counters["graph_break"].items():
        counts[f"graph break: {reason.splitlines()[0]}"] += number  # further lines are explanations
    return dict(counts)
