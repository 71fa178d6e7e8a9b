"""Both sides of a pair in one process: each has a session of pytest, and its own copy of what differs.

Calls that take turns in one process share its threads, its allocator and the time that the scheduler gives
it. So their ratio varies less than that of two processes, and far less where other programs use the cores.
What the sides have in common, such as torch, is loaded once. When a session has collected the suite, it
starts the next one; the last one takes the commands. A test of one session runs while a test of another
waits in its call of `benchmark`, and ends before it.
"""

import itertools
import os
import random
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.machinery import EXTENSION_SUFFIXES
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, NoReturn

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

from ..measure.clock import alternate
from .variants.child_plugins import CallersTree
from .variants.import_roots import SIDE, Trees, below
from .variants.pipe import Link
from .variants.startup import run
from .worker import Worker

_TURNS_OF_COPIES = 4
"""So many turns are timed with the same copies of the inputs."""
_OWN = __name__.partition(".")[0]
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("purelib", "platlib")})


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
            new = [(name, module) for name, module in sys.modules.items() if name not in self._seen]
            for name, module in new:
                package = name.partition(".")[0]
                if package in self._trees.loaded or (module and _refers(module, self._packages)):
                    self._packages.add(package)
            self._seen |= {name for name, _ in new}
            names = [name for name in sys.modules if name.partition(".")[0] in self._packages]
            self._modules = {name: sys.modules[name] for name in names}
        for name in self._modules:
            del sys.modules[name]
        self._registered = [(registry, self._own(registry)) for registry in _registries()]
        for registry, own in self._registered:
            for name in own:
                del registry[name]
        self._path, self._finders = sys.path[:], sys.meta_path[:]
        self._search, self._file = AssertionRewritingHook._find_spec, os.environ[SIDE]  # noqa: SLF001

    def put_back(self) -> None:
        """Put it into the interpreter, from which that of another session was taken out."""
        sys.modules.update(self._modules)
        self._count = len(sys.modules)
        for registry, own in self._registered:
            registry.update(own)
        sys.path[:], sys.meta_path[:] = self._path, self._finders
        AssertionRewritingHook._find_spec, os.environ[SIDE] = staticmethod(self._search), self._file  # noqa: SLF001

    def _own(self, registry: Mapping[str, partial[Any]]) -> dict[str, partial[Any]]:
        return {name: made for name, made in registry.items() if _package(made.args[0]) in self._packages}


def _registries() -> list[dict[str, partial[Any]]]:
    """Return where torch keeps classes by names of which each may be taken once."""
    datapipe = sys.modules.get("torch.utils.data.datapipes.datapipe")
    return [datapipe.IterDataPipe.functions, datapipe.MapDataPipe.functions] if datapipe else []


class _Session(NamedTuple):
    worker: Worker
    imports: Imports
    collected: Mapping[str, Any]
    """What it says of its tests."""


class Together:
    """The sessions of a process, which are of one side each."""

    def __init__(self, terms: Mapping[str, Any], link: Link, trees: Trees) -> None:
        """Take the terms of a worker; `sessions` has the side and the file of the trees of each session."""
        self._terms, self._link, self._trees = terms, link, trees
        self._path, self._finders = sys.path[:], sys.meta_path[:]
        self._packages: Collection[str] = ()
        self._begun: list[_Session] = []
        self.active = 0
        """The number of the session whose modules are there."""
        self.worker = self._new_worker(trees)

    @property
    def current(self) -> Worker:
        """The worker of the active session."""
        return self._begun[self.active].worker if self.active < len(self._begun) else self.worker

    def _new_worker(self, trees: Trees) -> Worker:
        side, _ = self._terms["sessions"][self.active]
        return Worker({**self._terms, "side": side, "session": self.active}, self._link, trees, self)

    def goes_on(self, collected: Mapping[str, Any], root: str) -> Mapping[str, Any] | None:
        """Run the next session, when one has collected the suite; return the first answer of the last one."""
        number = self.active
        if number == 0:
            try:
                self._packages = self._own_packages(root)
            except NotTogetherError as error:
                return {"answer": "collected", "why_apart": str(error)}
        imports = Imports(self._packages, self._trees)
        collected = {**collected, "loaded": list(self._trees.loaded)}
        self._begun.append(_Session(self.worker, imports, collected))
        if len(self._begun) == len(self._terms["sessions"]):
            return {**collected, "sessions": [session.collected for session in self._begun]}
        imports.take_out()
        sys.path[:], sys.meta_path[:] = self._path, self._finders
        self._trees = trees = Trees.read(self._terms["sessions"][number + 1][1])
        trees.install()
        trees.install_in_pytest()
        os.environ[SIDE] = self._terms["sessions"][number + 1][1]
        self.active += 1
        self.worker = self._new_worker(trees)
        try:
            pytest.main(sys.argv[1:], plugins=[CallersTree(trees), self.worker])
        finally:
            Imports(self._packages, trees).take_out()
            imports.put_back()
            self.active = number
        if len(self._begun) == number + 1:
            return {"answer": "collected", "why_apart": "the suite cannot be collected twice"}
        return None

    def begin(self, pair: int, place: int | None, link: Link) -> None:
        """Begin in a fork, see `Worker.begin`."""
        for session in self._begun:
            session.worker.begin(pair, place, link)

    def takes(self, command: Mapping[str, Any]) -> bool:
        """Obey a command that is not for the active session; tell whether it was one."""
        if command["command"] == "turns":
            self._begun[self.active].worker.reply(command, lambda: self._turns(command))
            return True
        number = command.get("session", self.active)
        if number == self.active:
            return False
        with self._switched(number):
            worker = self._begun[number].worker
            worker.reply(command, lambda: worker.obey(command))
        return True

    def _turns(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Let two sessions take turns, a block each, both on one of the cores that are given."""
        draw = random.Random(command["seed"])  # noqa: S311 - turns, not secrets
        blocks: dict[str, list[dict[str, Any]]] = {side: [] for side in command["sizes"]}

        def turn() -> None:
            core = draw.choice(command["cores"]) if command["cores"] else None
            for side in draw.sample([*blocks], len(blocks)):
                renew = len(blocks[side]) % _TURNS_OF_COPIES == 0
                terms = {"command": "block", "core": core, "renew": renew, **command["sizes"][side]}
                with self._switched(command["sessions"][side]):
                    blocks[side].append(self._begun[self.active].worker.obey(terms))

        alternate(turn, self._begun[self.active].worker.now, command["seconds"], command["end"])
        return {"answer": "turns", "blocks": blocks}

    @contextmanager
    def _switched(self, number: int) -> Iterator[None]:
        """Put what a session has for itself in place of what is there within the context."""
        before = self.active
        if number == before:
            yield
            return
        first, second = self._begun[before], self._begun[number]
        second.worker.follow(first.worker)
        first.imports.take_out()
        second.imports.put_back()
        self.active = number
        try:
            yield
        finally:
            second.imports.take_out()
            first.imports.put_back()
            first.worker.follow(second.worker)
            self.active = before

    def _own_packages(self, root: str) -> Collection[str]:
        """Return the top-level packages of which each session needs a copy: what differs, and what uses that.

        Raises:
            NotTogetherError: one of them is compiled, so that it can be loaded only once.
        """
        modules: dict[str, list[ModuleType]] = defaultdict(list)
        for name, module in sys.modules.items():
            package = name.partition(".")[0]
            if package not in (_OWN, "__main__", "__mp_main__", *sys.stdlib_module_names) and module:
                modules[package].append(module)
        packages = self._trees.loaded.keys() & modules.keys()
        packages |= {name for name, parts in modules.items() if any(_is_below(part, root) for part in parts)}
        for _, file in self._terms["sessions"][1:]:
            trees = Trees.read(file)
            packages |= {name for name, parts in modules.items() if _is_elsewhere(name, parts, trees)}
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
                raise NotTogetherError(f"{part.__name__} is compiled, and it differs or uses what does")
        return packages


class NotTogetherError(Exception):
    """The sides cannot be loaded into one process; the message is a part of a line."""


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


def main(terms: Mapping[str, Any], link: Link, trees: Trees) -> NoReturn:
    """Run pytest for each session."""
    run(trees, Together(terms, link, trees).worker)
