"""What stays as it is during a measurement: the garbage collector, the number of CPU threads, the seeds."""

import ctypes
import gc
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

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


_SEEDERS: dict[str, Callable[[Any, int], object]] = {
    "numpy.random": lambda numpy_random, number: numpy_random.seed(number),
    "torch": lambda torch, number: torch.manual_seed(number),
}
"""By the module that must be loaded for it."""


def seed(number: int) -> None:
    """Seed the random numbers of all loaded libraries; `number` is below 2**32."""
    random.seed(number)
    for name, seeds in _SEEDERS.items():
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if spec and not getattr(spec, "_initializing", False):  # one that is being imported is not ready
            seeds(sys.modules[name], number)


def seed_imports(number: int) -> None:
    """Seed a library as soon as it is imported: test modules may draw their inputs right after."""
    sys.meta_path.insert(0, _Seeding(number))


class _Seeding:
    """An import finder that lets the others find a library, and seeds it when it has run."""

    def __init__(self, number: int) -> None:
        self._number, self._awaited = number, {*_SEEDERS}

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._awaited:
            return None
        self._awaited.remove(name)
        spec = find_spec(name)  # which asks the others
        if spec is None or spec.loader is None:
            return spec
        loader, number = spec.loader, self._number
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _SEEDERS[name](module, number)

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
