"""Imports a variant's modules in place of the installed ones and those in the caller's tree.

Processes that a benchmark starts load this file alone, see `site/sitecustomize.py`, and their imports may be
what is measured. So this file imports hardly more than what Python itself has loaded when it starts.
"""

from __future__ import annotations

import marshal
import os
import sys
from _frozen_importlib import BuiltinImporter, FrozenImporter
from _frozen_importlib_external import BYTECODE_SUFFIXES, SOURCE_SUFFIXES, PathFinder
from _imp import extension_suffixes

TYPE_CHECKING = False  # stands for `typing.TYPE_CHECKING`, as `typing` takes long to import
if TYPE_CHECKING:
    import importlib.metadata
    from collections.abc import Collection, Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from pathlib import Path
    from types import ModuleType
    from typing import Any

LEFT = frozenset({"conftest", "setup", "tests", "test", "benchmarks"})
"""Names of modules and folders that both sides import from the caller's tree: the benchmarks."""
HIDDEN = "GNNBENCH_HIDDEN"
"""Variable with the top-level packages that cannot be imported, on both sides."""
SIDE = "GNNBENCH_SIDE"
"""Variable with the file from which processes that a benchmark starts read their trees."""
SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
"""The first folder in the path of these processes; its `sitecustomize` installs the trees."""
SUFFIXES = (*extension_suffixes(), *SOURCE_SUFFIXES, *BYTECODE_SUFFIXES)
"""Suffixes of module files, in the order in which Python looks for them."""
_COMPILED = len(extension_suffixes())
"""Number of the suffixes of compiled modules, which come first."""
_SOURCES = ("src", "lib", "python")
"""Names of folders of code, which are no folders of tests even if pytest's arguments name them."""


def left(path: Path, root: Path) -> set[str]:
    """Return the top-level names that contain a test file or folder; `root` is pytest's rootdir."""
    top = path.with_suffix("")
    while (top.parent / "__init__.py").exists():
        top = top.parent
    is_inside = path != root and path.is_relative_to(root)
    return {top.name, path.relative_to(root).parts[0].partition(".")[0]} if is_inside else {top.name}


def below(path: str, folder: str) -> str | None:
    """Return a path relative to a folder. Returns None if the path is outside the folder."""
    if path == folder:
        return ""
    return path[len(folder) + 1 :] if path.startswith(f"{folder}{os.sep}") else None


class TestFiles:
    """The files of the caller's tree that both sides run: tests, conftest.py, and the files next to them."""

    def __init__(self, tops: Iterable[str]) -> None:
        self._tops = sorted(set(tops), key=len, reverse=True)
        self._folders = {os.path.join(top, name) for top in self._tops for name in LEFT}
        self.collected: set[str] = set()
        """The files that pytest collects."""

    def add(self, path: str) -> None:
        """Add a file that pytest collects, or a folder that pytest's arguments name."""
        is_folder = os.path.isdir(path)
        folder = path if is_folder else os.path.dirname(path)
        if not is_folder:
            self.collected.add(path)
        for top in self._tops:
            parts = (below(folder, top) or "").split(os.sep)
            depth = next((number for number, part in enumerate(parts, 1) if part in LEFT), 0)
            if depth:
                self._folders.add(os.path.join(top, *parts[:depth]))
                return
        is_code = os.path.basename(folder) in _SOURCES or os.path.exists(os.path.join(folder, "__init__.py"))
        if not is_code and not any(below(top, folder) is not None for top in self._tops):
            self._folders.add(folder)

    def has(self, path: str) -> bool:
        """Whether both sides run a file, or the files of a folder."""
        is_conftest = os.path.basename(path) in ("conftest", "conftest.py")
        is_in_folder = any(below(path, folder) is not None for folder in self._folders)
        return is_conftest or path in self.collected or is_in_folder


class Place:
    """A folder of the caller whose tracked files a side has in another folder.

    `tracked`: names of the files that git tracks in either folder; without git, all files in `tree`. Names of
    the folders that contain these files are added.
    `ignored`: names of modules that git ignores in the caller's folder, which a build may have made; names of
    folders end with a slash. `foreign`: paths of further compiled modules of the caller.
    `changed`: names of the tracked files that differ between both folders.
    `borrows`: whether the side uses ignored files too, because no source of compiled code differs.
    `sources`: names of tracked files in the built folder; modules that are older than one are outdated.
    """

    def __init__(
        self,
        source: str,
        tree: str,
        tracked: Iterable[str],
        ignored: Iterable[str] = (),
        foreign: Iterable[str] = (),
        *,
        changed: Iterable[str] = (),
        borrows: bool = False,
        sources: Iterable[str] = (),
    ) -> None:
        self.source, self.tree, self.borrows = source, tree, borrows
        self.tracked, folders = frozenset(tracked), {""}
        for name in self.tracked:
            folder = os.path.dirname(name)
            while folder not in folders:
                folders.add(folder)
                folder = os.path.dirname(folder)
        self.tracked |= folders
        self.ignored, self.foreign = frozenset(ignored), frozenset(foreign)
        self.changed, self.sources = frozenset(changed), tuple(sources)

    def name(self, path: str) -> str | None:
        """Return the name of a tracked file or folder of the caller. Returns None for all other paths."""
        name = below(path, self.source)
        return name if name in self.tracked else None

    def built(self, path: str) -> bool | None:
        """Whether this side may use a file made by a build. Returns None if no build made the file."""
        is_module = path.endswith(SUFFIXES[:_COMPILED])
        name_in_tree = below(path, self.tree)
        if name_in_tree and self.tree != self.source:
            return self._is_new(path, self.tree) if is_module and name_in_tree not in self.tracked else None
        name = below(path, self.source) or ""
        folders = (name[: end + 1] for end, letter in enumerate(name) if letter == os.sep)
        is_made = "site-packages" not in path and below(path, sys.prefix) is None
        if path in self.foreign or (is_made and not self.ignored.isdisjoint((name, *folders))):
            return self.borrows and (not is_module or self._is_new(path, self.source))
        return None

    def _is_new(self, module: str, folder: str) -> bool:
        """Whether a module is at least as new as each source."""
        built_at = os.stat(module).st_mtime
        files = (os.path.join(folder, name) for name in self.sources)
        return all(os.stat(file).st_mtime <= built_at for file in files if os.path.isfile(file))


class Trees:
    """An import finder that looks for modules in a side's trees first.

    This finder precedes all others, as pytest puts the caller's folder first in `sys.path`. A module that
    another finder finds in the caller's tree is loaded from the same path in the side's checkout. The finder
    of an editable installation is not asked for packages that a tree has: it would add modules that only the
    installed version has. Modules of the standard library are not replaced. Top-level packages are looked for
    in the roots; the first root that has a name wins.
    """

    def __init__(self, roots: Sequence[str], places: Sequence[Place] = (), project: str = "") -> None:
        self._roots = list(roots)
        self._places = sorted(places, key=lambda place: len(place.source), reverse=True)
        self.tests = TestFiles([place.source for place in places] + [project] * bool(project))
        """The files that both sides run."""
        self._left = set(LEFT)
        self._reals: dict[str, str] = {}
        """Paths without symbolic links, by path."""
        self._file = ""
        self.loaded: dict[str, None] = {}
        """Top-level names that were imported from the trees; the values are not used."""
        self.borrowed: dict[str, None] = {}
        """Paths of ignored files of the caller that were imported."""
        self.withheld: dict[str, None] = {}
        """Paths of ignored files of the caller that were looked for, but do not belong to this side."""
        self._whole: set[str] = set()
        """Names in `loaded` whose modules all come from one folder."""

    @classmethod
    def read(cls, file: str) -> Trees:
        """Return the trees that `save` has written."""
        with open(file, "rb") as stream:
            roots, places, names, tests = marshal.load(stream)  # noqa: S302 - our own file, just written
        trees = cls(roots, [Place(**place) for place in places])
        trees._left, trees._file = names, file
        vars(trees.tests).update(tests)
        return trees

    def save(self, file: str) -> None:
        """Write what another process needs to import the same modules."""
        temporary, places = f"{file}.{os.getpid()}", list(map(vars, self._places))
        with open(temporary, "wb") as stream:
            marshal.dump((self._roots, places, self._left, vars(self.tests)), stream)
        os.replace(temporary, file)

    def inherited(self) -> dict[str, str]:
        """Return the environment variables that make child processes import the same modules."""
        paths = [SITE, *filter(None, [os.environ.get("PYTHONPATH")])]
        return {SIDE: self._file, "PYTHONPATH": os.pathsep.join(paths)}

    @property
    def is_elsewhere(self) -> bool:
        """Whether a module may be imported from another place than without this finder."""
        return bool(self._roots) or any(place.tree != place.source for place in self._places)

    def install(self) -> None:
        """Put this finder before all others, and remove that of another session."""
        if not (self._roots or self._places):
            return
        plain = (BuiltinImporter, FrozenImporter, *(() if self._places else (PathFinder,)))
        finders = (finder for finder in sys.meta_path if not isinstance(finder, Trees))
        originals = (finder.finder if isinstance(finder, _Mapped) else finder for finder in finders)
        mapped = (finder if finder in plain else _Mapped(finder, self, self._whole) for finder in originals)
        sys.meta_path[:] = [self, *mapped]

    def install_in_pytest(self) -> None:
        """Precede pytest's assertion rewriting too, which searches sys.path itself for plugins."""
        from _pytest.assertion.rewrite import AssertionRewritingHook

        if self._roots or self._places:
            AssertionRewritingHook._find_spec = staticmethod(self._find_anywhere)  # type: ignore[assignment] # noqa: SLF001

    def leave(self, paths: Iterable[Path], root: Path) -> None:
        """Import the packages of these test files or folders from the caller's tree, whose top is `root`."""
        for path in paths:
            self.tests.add(os.path.realpath(path))
            for name in left(path, root):
                package = os.path.join(root, name)
                if not self._places or self.tests.has(package) or self.tests.has(f"{package}.py"):
                    self._left.add(name)
        if self._file:
            self.save(self._file)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module in the side's folders."""
        if path is not None and name.partition(".")[0] == __name__.partition(".")[0]:
            return PathFinder.find_spec(name, path)  # what measures is the same on both sides
        if path is not None:
            is_in_trees = any(self._is_in_tree(folder) or self.moved(folder) for folder in path)
            return (self.search(name, path) or self._borrow(name, path)) if is_in_trees else None
        if name in self._left or name in sys.stdlib_module_names:
            return None
        folders = list(filter(None, map(self.moved, sys.path)))
        spec = PathFinder.find_spec(name, [*folders, *self._roots])
        if spec is not None and spec.origin is None:
            # A namespace package (a folder without __init__.py): an ordinary package of that name goes first;
            # otherwise the parts in all folders belong together. The list fixes the parts: Python would
            # search sys.path again whenever sys.path changes.
            spec = PathFinder.find_spec(name, [*folders, *self._roots, *self._searched(sys.path)])
            if spec is None or spec.origin is not None:
                return None
            spec.submodule_search_locations = list(spec.submodule_search_locations or ())
        elif spec is not None:
            self._whole.add(name)
        if spec is not None:
            self.loaded[name] = None
        return spec or self._borrow(name, sys.path)

    def search(self, name: str, folders: Sequence[str]) -> ModuleSpec | None:
        """Return what Python's own search finds in some folders, or in the side's copies of them."""
        last = name.rpartition(".")[2]
        located = filter(None, map(self._located, folders))
        sources = [os.path.join(place.source, inner).rstrip(os.sep) for place, inner in located]
        for source in sources:
            if any(map(self.tests.has, (f"{source}{os.sep}{last}", f"{source}{os.sep}{last}.py"))):
                spec = PathFinder.find_spec(name, [source])
                if spec is not None:
                    return spec
        spec = PathFinder.find_spec(name, self._searched(folders))
        if spec is None:  # a module next to tests that is new in the caller's tree
            test_folders = {os.path.dirname(file) for file in self.tests.collected}
            spec = PathFinder.find_spec(name, [source for source in sources if source in test_folders])
        return spec

    def _searched(self, folders: Iterable[str]) -> list[str]:
        return [self.moved(folder) or folder for folder in folders]

    def corrected(self, name: str, spec: ModuleSpec | None) -> ModuleSpec | None:
        """Return another finder's spec, moved to the side's folder. Returns None if the side lacks it."""
        if spec is None:
            return None
        for place in (spec.origin, *(spec.submodule_search_locations or ())):
            if place and (path_of_side := self.moved(place)):
                is_package = place == spec.origin and os.path.basename(place).startswith("__init__.")
                folder = os.path.dirname(os.path.dirname(path_of_side) if is_package else path_of_side)
                spec = PathFinder.find_spec(name, [folder])
                if spec is not None and "." not in name:
                    self.loaded[name] = None
                break
        return spec

    def moved(self, path: str) -> str | None:
        """Return the side's path of the caller's file or folder. Returns None if both sides share it."""
        real = self._real(path)
        names = [(place, name) for place in self._places if (name := place.name(real)) is not None]
        if not names or self.tests.has(real):
            return None
        return os.path.join(names[0][0].tree, names[0][1]).rstrip(os.sep)

    def _real(self, path: str) -> str:
        """Return a path without symbolic links, which are resolved once per path."""
        path = path or os.getcwd()
        if path not in self._reals:
            self._reals[path] = os.path.realpath(path)
        return self._reals[path]

    def callers(self, path: str) -> tuple[str, bool] | None:
        """Return a tracked file's path in the caller's tree, and whether it replaces the side's; or None."""
        place, name = self._located(path) or (None, "")
        if not place or not name or name not in place.tracked:
            return None
        file = os.path.join(place.source, name)
        return file, place.tree != place.source and file == self._real(path)

    def built(self, path: str) -> str | None:
        """Return the real path of a built file that may come from other sources than this side's; or None."""
        real = self._real(path)
        return real if any(place.built(real) is False for place in self._places) else None

    def _is_in_tree(self, folder: str) -> bool:
        return any(below(folder, place.tree) is not None for place in self._places)

    def _located(self, path: str) -> tuple[Place, str] | None:
        """Return the place that has a file or folder in either tree, and the name in it; or None."""
        real = self._real(path)
        for place in self._places:
            for name in (below(real, place.tree), place.name(real)):
                if name is not None:
                    return place, name
        return None

    def _borrow(self, name: str, folders: Iterable[str]) -> ModuleSpec | None:
        """Find a module that git ignores in the caller's tree, as builds make them."""
        last = name.rpartition(".")[2]
        for place, folder in filter(None, map(self._located, folders)):
            names = (os.path.join(folder, f"{last}{ending}") for ending in (*SUFFIXES, "/"))
            if module := next(filter(place.ignored.__contains__, names), None):
                path = os.path.join(place.source, module).rstrip(os.sep)
                (self.borrowed if place.borrows else self.withheld)[path] = None
                return PathFinder.find_spec(name, [os.path.dirname(path)]) if place.borrows else None
        return None

    def find_distributions(self, context: Any = None) -> Iterable[importlib.metadata.Distribution]:
        """Find the metadata, such as versions, of packages installed in the trees."""
        import importlib.metadata

        context = context or importlib.metadata.DistributionFinder.Context()
        if "path" in vars(context):
            return ()
        query = importlib.metadata.DistributionFinder.Context(name=context.name, path=self._roots)
        return importlib.metadata.MetadataPathFinder.find_distributions(query)

    def _find_anywhere(self, name: str, path: Sequence[str] | None = None) -> ModuleSpec | None:
        return self.find_spec(name, path) or self.search(name, sys.path if path is None else path)


class _Mapped:
    """Wraps another finder: modules that it finds in the caller's tree come from the side's.

    `packages`: top-level names that the other finder is not asked for; names may be added later.
    """

    def __init__(self, finder: Any, trees: Trees, packages: Collection[str]) -> None:
        self.finder, self._trees, self._packages = finder, trees, packages

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if self.finder is PathFinder:
            return self._trees.search(name, sys.path if path is None else path)
        if name.partition(".")[0] in self._packages:
            return None
        return self._trees.corrected(name, self.finder.find_spec(name, path, target))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)
