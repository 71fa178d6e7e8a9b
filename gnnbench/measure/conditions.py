"""What stays as it is during a measurement: Python's garbage collector, the number of CPU threads."""

import ctypes
import gc
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .fingerprint.libraries import loaded

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
    """Let libraries use this many CPU threads within the context; None: as many as before.

    torch.set_num_threads sets the number of torch's OpenMP and of MKL. Other libraries may have loaded an
    OpenMP of their own, as DGL does beside builds of torch that rename theirs.
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
    before = (torch.get_num_threads(), *(library.omp_get_max_threads() for library in openmp))
    for setter in setters:
        setter(number)
    try:
        yield
    finally:
        for setter, one in zip(setters, before, strict=True):
            setter(one)
