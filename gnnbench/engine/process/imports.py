"""Gives each pytest session of a process with both sides its own copies of modules, see `together.py`."""

import itertools
import os
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import partial
from importlib.machinery import EXTENSION_SUFFIXES
from types import FunctionType, ModuleType
from typing import Any

from _pytest.assertion.rewrite import AssertionRewritingHook

from .variants.import_roots import SIDE, Trees, below

_OWN = __name__.partition(".")[0]


class NotTogetherError(Exception):
    """The sides cannot be loaded into one process; the message says why."""


class Imports:
    """The modules and the import path of one session. The interpreter has them while the session is active.

    `packages` names the packages of which the session has its own copy. `trees` are the folders of its side's
    packages: what the session imports from there later is its own, too.
    """

    def __init__(self, packages: Collection[str], trees: Trees) -> None:
        self._packages, self._trees = {*packages}, trees
        self._known_names = {*sys.modules}
        self._modules: dict[str, ModuleType] = {}
        self._module_count = 0

    def take_out(self) -> None:
        """Remove the session's modules and import path from the interpreter; store them in this object."""
        if len(sys.modules) != self._module_count:
            packages = {name: name.partition(".")[0] for name in sys.modules}
            for name in filter(lambda name: name not in self._known_names, packages):
                module, is_from_trees = sys.modules[name], packages[name] in self._trees.loaded
                if is_from_trees or (module and _refers(module, self._packages)):
                    self._packages.add(packages[name])
            self._known_names |= packages.keys()
            self._modules = {name: sys.modules[name] for name in packages if packages[name] in self._packages}
        for name in self._modules:
            del sys.modules[name]
        self._registered = [(registry, self._own_classes(registry)) for registry in _registries()]
        for registry, classes in self._registered:
            for name in classes:
                del registry[name]
        self._path, self._finders = sys.path[:], sys.meta_path[:]
        self._find_spec, self._side_file = AssertionRewritingHook._find_spec, os.environ[SIDE]  # noqa: SLF001

    def put_back(self) -> None:
        """Put the session's modules and import path back, after those of another session were taken out."""
        sys.modules.update(self._modules)
        self._module_count = len(sys.modules)
        for registry, classes in self._registered:
            registry.update(classes)
        sys.path[:], sys.meta_path[:] = self._path, self._finders
        AssertionRewritingHook._find_spec, os.environ[SIDE] = staticmethod(self._find_spec), self._side_file  # noqa: SLF001

    def _own_classes(self, registry: Mapping[str, partial[Any]]) -> dict[str, partial[Any]]:
        return {name: make for name, make in registry.items() if _package(make.args[0]) in self._packages}


def _registries() -> list[dict[str, partial[Any]]]:
    """Return torch's registries of classes, in which each name may be registered only once."""
    datapipe = sys.modules.get("torch.utils.data.datapipes.datapipe")
    return [datapipe.IterDataPipe.functions, datapipe.MapDataPipe.functions] if datapipe else []


def own_packages(trees: Trees, other: Trees, root: str) -> Collection[str]:
    """Return the top-level packages of which each session needs a copy.

    These packages differ between the sides, belong to the project in the folder `root`, or use such packages.
    The first session has imported its modules, some from `trees`; the second one will import from `other`.

    Raises:
        NotTogetherError: one of these packages is compiled, so that a process can load it only once.
    """
    modules: dict[str, list[ModuleType]] = defaultdict(list)
    for name, module in sys.modules.items():
        package = name.partition(".")[0]
        if package not in (_OWN, "__main__", "__mp_main__", *sys.stdlib_module_names) and module:
            modules[package].append(module)
    packages = trees.loaded.keys() & modules.keys()
    for name, parts in modules.items():
        files = [file for part in parts if (file := _file(part))]
        is_below = any(below(file, root) is not None and "site-packages" not in file for file in files)
        if is_below or _is_elsewhere(name, files, other):
            packages.add(name)
    users = packages
    while users:
        packages |= users
        remaining = modules.keys() - packages
        users = {name for name in remaining if any(_refers(part, packages) for part in modules[name])}
    for part in itertools.chain.from_iterable(modules[name] for name in packages):
        if _file(part).endswith(tuple(EXTENSION_SUFFIXES)):
            raise NotTogetherError(f"{part.__name__} is compiled, and it or one of its imports differs")
    return packages


def _file(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or ""


def _is_elsewhere(name: str, files: Collection[str], trees: Trees) -> bool:
    """Whether `trees` has another file for a package, or for one of the `files` of its loaded modules."""
    spec = trees.find_spec(name)
    return (spec is not None and spec.origin not in files) or any(
        trees.side_path(file) not in (None, file) for file in files
    )


def _refers(module: ModuleType, packages: Collection[str]) -> bool:
    """Whether a module or one of its classes has an attribute that is defined in one of the packages."""
    for value in list(vars(module).values()):
        # Not `isinstance`: it reads `__class__`, which makes some objects import modules or warn.
        if issubclass(type(value), ModuleType | type | FunctionType) and _package(value) in packages:
            return True
        if issubclass(type(value), type) and any(
            type(part) is FunctionType and _package(part) in packages for part in list(vars(value).values())
        ):
            return True
    return False


def _package(value: ModuleType | type | FunctionType) -> str:
    name = value.__name__ if isinstance(value, ModuleType) else value.__module__
    return name.partition(".")[0] if isinstance(name, str) else ""
