"""What each session of a process has for itself in the interpreter."""

import itertools
import os
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import partial
from importlib.machinery import EXTENSION_SUFFIXES
from types import FunctionType, ModuleType
from typing import Any

from _pytest.assertion.rewrite import AssertionRewritingHook

from .variants.import_roots import SIDE, Trees, below

_OWN = __name__.partition(".")[0]
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("purelib", "platlib")})


class NotTogetherError(Exception):
    """The sides cannot be loaded into one process; the message is a part of a line."""


class Imports:
    """What a session has for itself in the interpreter: modules, and where more of them are looked for."""

    def __init__(self, packages: Collection[str], trees: Trees) -> None:
        """Take the packages of which it has a copy; those that it imports from its trees later are added."""
        self._packages, self._trees = {*packages}, trees
        self._seen = {*sys.modules}
        self._modules: dict[str, ModuleType] = {}
        self._count = 0

    def take_out(self) -> None:
        """Remove it from the interpreter, and keep it."""
        if len(sys.modules) != self._count:
            packages = {name: name.partition(".")[0] for name in sys.modules}
            for name in filter(lambda name: name not in self._seen, packages):
                module, is_loaded = sys.modules[name], packages[name] in self._trees.loaded
                if is_loaded or (module and _refers(module, self._packages)):
                    self._packages.add(packages[name])
            self._seen |= packages.keys()
            self._modules = {name: sys.modules[name] for name in packages if packages[name] in self._packages}
        for name in self._modules:
            del sys.modules[name]
        self._registered = [(registry, self._own(registry)) for registry in _registries()]
        for registry, classes in self._registered:
            for name in classes:
                del registry[name]
        self._path, self._finders = sys.path[:], sys.meta_path[:]
        self._search, self._file = AssertionRewritingHook._find_spec, os.environ[SIDE]  # noqa: SLF001

    def put_back(self) -> None:
        """Put it into the interpreter, from which that of another session was taken out."""
        sys.modules.update(self._modules)
        self._count = len(sys.modules)
        for registry, classes in self._registered:
            registry.update(classes)
        sys.path[:], sys.meta_path[:] = self._path, self._finders
        AssertionRewritingHook._find_spec, os.environ[SIDE] = staticmethod(self._search), self._file  # noqa: SLF001

    def _own(self, registry: Mapping[str, partial[Any]]) -> dict[str, partial[Any]]:
        return {name: made for name, made in registry.items() if _package(made.args[0]) in self._packages}


def _registries() -> list[dict[str, partial[Any]]]:
    """Return where torch keeps classes by names of which each may be taken once."""
    datapipe = sys.modules.get("torch.utils.data.datapipes.datapipe")
    return [datapipe.IterDataPipe.functions, datapipe.MapDataPipe.functions] if datapipe else []


def own_packages(trees: Trees, other: Trees, root: str) -> Collection[str]:
    """Return the top-level packages of which both sessions need a copy: what differs, and what uses that.

    The modules of the first session, which has `trees`, are there; the second one has `other`.

    Raises:
        NotTogetherError: one of them is compiled, so that it can be loaded only once.
    """
    modules: dict[str, list[ModuleType]] = defaultdict(list)
    for name, module in sys.modules.items():
        package = name.partition(".")[0]
        if package not in (_OWN, "__main__", "__mp_main__", *sys.stdlib_module_names) and module:
            modules[package].append(module)
    packages = trees.loaded.keys() & modules.keys()
    packages |= {name for name, parts in modules.items() if any(_is_below(part, root) for part in parts)}
    packages |= {name for name, parts in modules.items() if _is_elsewhere(name, parts, other)}
    more = packages
    while more:
        packages = packages | more
        more = {
            name
            for name, parts in modules.items()
            if name not in packages and any(_refers(part, packages) for part in parts)
        }
    for part in itertools.chain.from_iterable(modules[name] for name in packages):
        if _file(part).endswith(tuple(EXTENSION_SUFFIXES)):
            raise NotTogetherError(f"{part.__name__} is compiled, and it or one of its imports differs")
    return packages


def _file(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or ""


def _is_below(module: ModuleType, root: str) -> bool:
    """Whether a module lies in a folder, and in none of installed packages."""
    file = _file(module)
    return below(file, root) is not None and not file.startswith(_INSTALLED)


def _is_elsewhere(name: str, parts: Collection[ModuleType], trees: Trees) -> bool:
    """Whether trees have a package, or any of its modules, at another place."""
    files = [file for part in parts if (file := _file(part))]
    spec = trees.find_spec(name)
    return (spec is not None and spec.origin not in files) or any(
        trees.moved(file) not in (None, file) for file in files
    )


def _refers(module: ModuleType, packages: Collection[str]) -> bool:
    """Whether a module has a module, class or function of these packages, also in one of its classes."""
    for value in list(vars(module).values()):
        # `isinstance` asks some objects for their class, which may import, or warn.
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
