"""Seeds the random numbers of Python and of the loaded libraries, so that two processes draw the same."""

import random
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_SEEDERS: dict[str, Callable[[Any, int], object]] = {
    "numpy.random": lambda numpy_random, number: numpy_random.seed(number),
    "torch": lambda torch, number: torch.manual_seed(number),
}
"""By the module that must be loaded for it."""


def seed(number: int) -> None:
    """Seed the random numbers of all loaded libraries; `number` is below 2**32."""
    random.seed(number)
    for name, seeds in _SEEDERS.items():
        if (module := sys.modules.get(name)) and hasattr(module, "__spec__") and not _loading(module):
            seeds(module, number)


def seed_imports(number: int) -> None:
    """Seed a library as soon as it is imported: test modules may draw their inputs right after."""
    sys.meta_path.insert(0, _Seeding(number))


def _loading(module: ModuleType) -> bool:
    return bool(getattr(module.__spec__, "_initializing", False))


class _Seeding:
    """An import finder that lets the others find a library, and seeds it when it has run."""

    def __init__(self, number: int) -> None:
        self._number, self._finding = number, False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _SEEDERS or self._finding:
            return None
        self._finding = True
        try:
            finders = (one for one in sys.meta_path if one is not self)
            spec = next((found for one in finders if (found := one.find_spec(name, path, target))), None)
        finally:
            self._finding = False
        if spec is None or spec.loader is None:
            return spec
        loader, number = spec.loader, self._number
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _SEEDERS[name](module, number)

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
