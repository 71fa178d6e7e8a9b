"""The number of CPU threads that libraries use."""

import ctypes
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from .fingerprint.libraries import loaded

_OPENMP = re.compile(r"lib[gi]?omp\d*[-.]")


@contextmanager
def cpu_threads(number: int | None) -> Iterator[None]:
    """Let libraries use this many CPU threads within the context; None: as many as before.

    torch.set_num_threads sets the number of torch's OpenMP and of MKL. Other libraries may have loaded an
    OpenMP of their own, as DGL does beside builds of torch that rename theirs.
    """
    if number is None:
        yield
        return
    openmp = [ctypes.CDLL(str(path)) for path in loaded(len(sys.modules)) if _OPENMP.match(path.name)]
    before = torch.get_num_threads(), [library.omp_get_max_threads() for library in openmp]
    _set(number, openmp, [number] * len(openmp))
    try:
        yield
    finally:
        _set(before[0], openmp, before[1])


def _set(torchs: int, openmp: list[ctypes.CDLL], numbers: list[int]) -> None:
    torch.set_num_threads(torchs)
    for library, number in zip(openmp, numbers, strict=True):
        library.omp_set_num_threads(number)
