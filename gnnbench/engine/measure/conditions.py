"""The conditions of a call: garbage collector, CPU threads, seeds, longest time, and what is compiled."""

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

_AGAIN_SECONDS = 0.5
_OPENMP = re.compile(r"lib[gi]?omp\d*[-.]")


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector from running, because it may free memory and run finalisers at any time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@contextmanager
def cpu_threads(number: int | None) -> Iterator[None]:
    """Let libraries use `number` CPU threads within the context, or as many as before if it is None.

    torch.set_num_threads sets the number of torch's OpenMP and of MKL. Other libraries may have loaded
    another OpenMP, as DGL does next to builds of torch that rename torch's.
    """
    if number is None:
        yield
        return
    import torch

    openmp = [ctypes.CDLL(str(path)) for path in loaded(len(sys.modules)) if _OPENMP.match(path.name)]
    setters: list[Callable[[int], object]] = [
        torch.set_num_threads,
        *(library.omp_set_num_threads for library in openmp),
    ]
    counts = (torch.get_num_threads(), *(library.omp_get_max_threads() for library in openmp))
    for setter in setters:
        setter(number)
    try:
        yield
    finally:
        for setter, threads in zip(setters, counts, strict=True):
            setter(threads)


def seed(number: int) -> None:
    """Seed the random numbers of Python, of NumPy and, if loaded, of torch; `number` is below 2**32.

    A torch that is imported later has the same seed in each process.
    """
    import numpy as np

    random.seed(number)
    np.random.seed(number)  # noqa: NPY002 - what code under test draws from
    torch = sys.modules.get("torch")
    if torch and hasattr(torch, "manual_seed"):  # not while torch is being imported
        torch.manual_seed(number)


class TooLongError(BaseException):
    """A call takes too long. It is a BaseException, which no `except Exception` of the call catches."""


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raise TooLongError in the context after some seconds, once C code returns; None sets no limit.

    A timer that is set already stays, and then there is no limit.
    """
    if (
        seconds is None
        or threading.current_thread() is not threading.main_thread()
        or any(signal.getitimer(signal.ITIMER_REAL))
    ):
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        raise TooLongError

    handler = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


def reset_compiler() -> None:
    """Drop compiled code and all counts, because graph breaks are only reported during compilation."""
    if dynamo := sys.modules.get("torch._dynamo"):  # slow to import; without it, nothing was compiled
        dynamo.reset()
        clear_compilations()


def clear_compilations() -> None:
    """Drop the counts, so that a call without compilation has none."""
    if dynamo := sys.modules.get("torch._dynamo"):
        dynamo.utils.counters.clear()


def compilations() -> dict[str, int]:
    """Return the numbers of graphs, recompilations, and graph breaks by reason; empty if there are none."""
    dynamo = sys.modules.get("torch._dynamo")
    graphs = dynamo and dynamo.utils.counters["stats"]["unique_graphs"]
    if not dynamo or not graphs:
        return {}
    compiled = dynamo.convert_frame.FRAME_COMPILE_COUNTER  # compilations by function
    counts = Counter({"graphs": graphs, "recompilations": compiled.total() - len(compiled)})
    for reason, number in dynamo.utils.counters["graph_break"].items():
        counts[f"graph break: {reason.splitlines()[0]}"] += number  # the other lines are explanations
    return dict(counts)
