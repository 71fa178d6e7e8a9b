"""Finds a variant's modules in place of the installed ones and of those in the caller's tree.

The caller's tree is the project in which gnnbench was started. A side is one of the two variants that are
compared, and its trees are the folders that have its code. Both sides run the tests of the caller's tree.

Child processes of a benchmark load this file without the rest of gnnbench (`site/sitecustomize.py`), and a
benchmark may measure their imports. So this file imports little more than Python loads at its start.
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
    from collections.abc import Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from pathlib import Path
    from types import ModuleType
    from typing import Any

TEST_NAMES = frozenset({"conftest", "setup", "tests", "test", "benchmarks"})
"""Names of modules and folders of tests, which both sides import from the caller's tree."""
HIDDEN = "GNNBENCH_HIDDEN"
"""Environment variable with the top-level packages that no side can import."""
SIDE = "GNNBENCH_SIDE"
"""Environment variable with the file from which processes that a benchmark starts read `Trees`."""
SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
"""The first folder in the PYTHONPATH of these processes; its `sitecustomize` installs `Trees`."""
_COMPILED = tuple(extension_suffixes())
"""Suffixes of compiled modules."""
SUFFIXES = (*_COMPILED, *SOURCE_SUFFIXES, *BYTECODE_SUFFIXES)
"""Suffixes of module files, in the order in which Python looks for them."""
_OWN_MODULES = f"{__name__.partition('.')[0]}."
"""Prefix of the modules that measure both sides, even if these are files of the caller's tree."""
_SOURCES = ("src", "lib", "python")
"""Names of folders of code: they never count as folders of tests, even if pytest's arguments name them."""


def names_of_tests(path: Path, root: Path) -> set[str]:
    """Return the top-level names by which tests in `path` may be imported; `root` is pytest's rootdir."""
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
    """The files of the caller's tree that both sides run: tests, conftest.py, and the files next to them.

    `tops`: the folders of the caller's tree that may contain tests.
    """

    def __init__(self, tops: Iterable[str]) -> None:
        self._tops = sorted(set(tops), key=len, reverse=True)
        self._folders = {os.path.join(top, name) for top in self._tops for name in TEST_NAMES}
        self.collected: set[str] = set()
        """The files that pytest collects."""

    def add(self, path: str) -> None:
        """Add a file that pytest collects, or a folder that pytest's arguments name."""
        is_folder = os.path.isdir(path)
        folder = path if is_folder else os.path.dirname(path)
        if not is_folder:
            self.collected.add(path)
        for top in self._tops:  # the outermost folder with a name of TEST_NAMES counts
            parts = (below(folder, top) or "").split(os.sep)
            depth = next((number for number, part in enumerate(parts, 1) if part in TEST_NAMES), 0)
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


class Redirect:
    """Redirects imports from `source`, a folder of the caller's tree, to `tree`, one side's copy of it.

    For a side that runs the caller's own code, both are the same folder.
    `tracked`: names of the files that git tracks in either folder; without git, all files in `tree`. Names of
    the folders that contain these files are added.
    `ignored`: names of modules in `source` that git ignores, which a build may have made; names of folders
    end with a slash. `compiled`: paths of other compiled modules of the project, such as installed ones.
    `changed`: names of the tracked files that differ between the two folders.
    `uses_builds`: whether the side may use the ignored modules, because no source of compiled code differs.
    `sources`: names of the files that are compiled; a module that is older than any of them is outdated.
    """

    def __init__(
        self,
        source: str,
        tree: str,
        tracked: Iterable[str],
        ignored: Iterable[str] = (),
        compiled: Iterable[str] = (),
        *,
        changed: Iterable[str] = (),
        uses_builds: bool = False,
        sources: Iterable[str] = (),
    ) -> None:
        self.source, self.tree, self.uses_builds = source, tree, uses_builds
        self.tracked, folders = frozenset(tracked), {""}
        for name in self.tracked:
            folder = os.path.dirname(name)
            while folder not in folders:
                folders.add(folder)
                folder = os.path.dirname(folder)
        self.tracked |= folders
        self.ignored, self.compiled = frozenset(ignored), frozenset(compiled)
        self.changed, self.sources = frozenset(changed), tuple(sources)

    def name(self, path: str) -> str | None:
        """Return a path relative to `source`. Returns None if git tracks no such file or folder there."""
        name = below(path, self.source)
        return name if name in self.tracked else None

    def may_use(self, path: str) -> bool | None:
        """Whether this side may use a file that a build made. Returns None if no build made the file."""
        is_module = path.endswith(_COMPILED)
        name_in_tree = below(path, self.tree)
        if name_in_tree and self.tree != self.source:
            is_untracked = name_in_tree not in self.tracked
            return self._is_current(path, self.tree) if is_module and is_untracked else None
        name = below(path, self.source) or ""
        folders = (name[: end + 1] for end, letter in enumerate(name) if letter == os.sep)
        is_made = "site-packages" not in path and below(path, sys.prefix) is None
        if path in self.compiled or (is_made and not self.ignored.isdisjoint((name, *folders))):
            return self.uses_builds and (not is_module or self._is_current(path, self.source))
        return None

    def _is_current(self, module: str, folder: str) -> bool:
        """Whether no source in `folder` was modified after a module was compiled."""
        built_at = os.stat(module).st_mtime
        files = (os.path.join(folder, name) for name in self.sources)
        return all(os.stat(file).st_mtime <= built_at for file in files if os.path.isfile(file))


class Trees:
    """An import finder that looks for modules in a side's trees first.

    It precedes all other finders, because pytest puts the caller's folder first in `sys.path`. A top-level
    package comes from the first of the `roots` that has it. If another finder finds a module in the caller's
    tree, the side's copy of the module is loaded, see `Redirect`. Finders of editable installations are not
    asked for packages that a tree has: they would add modules of the installed version. Modules of the
    standard library are not replaced.
    """

    def __init__(self, roots: Sequence[str], redirects: Sequence[Redirect] = (), project: str = "") -> None:
        self._roots = list(roots)
        self._redirects = sorted(redirects, key=lambda redirect: len(redirect.source), reverse=True)
        self._is_working_tree = all(redirect.tree == redirect.source for redirect in redirects)
        """Whether this side runs the caller's own code, apart from what pip installs for the variant."""
        self.tests = TestFiles(filter(None, [project, *(redirect.source for redirect in redirects)]))
        """The files that both sides run."""
        self._test_names = set(TEST_NAMES)
        self._reals: dict[str, str] = {}
        """Paths without symbolic links, by path."""
        self._file = ""
        """The file from which `read` has read this finder; `add_tests` writes it again."""
        self.loaded: dict[str, None] = {}
        """Top-level names that were imported from the trees, in the order of import, as keys."""
        self.borrowed: dict[str, None] = {}
        """Paths of the caller's modules that git ignores and that this side imported, as keys."""
        self.withheld: dict[str, None] = {}
        """Paths of the caller's modules that git ignores and that this side must not use, as keys."""
        self.complete: set[str] = set()
        """Names in `loaded` of packages with an `__init__.py`, which have no parts in other folders."""

    @classmethod
    def read(cls, file: str) -> Trees:
        """Return the finder that another process has saved."""
        with open(file, "rb") as stream:
            roots, redirects, names, tests = marshal.load(stream)  # noqa: S302 - our own file, just written
        trees = cls(roots, [Redirect(**redirect) for redirect in redirects])
        trees._test_names, trees._file = names, file
        vars(trees.tests).update(tests)
        return trees

    def save(self, file: str) -> None:
        """Write this finder to a file, so that another process imports the same modules."""
        temporary, redirects = f"{file}.{os.getpid()}", list(map(vars, self._redirects))
        with open(temporary, "wb") as stream:
            marshal.dump((self._roots, redirects, self._test_names, vars(self.tests)), stream)
        os.replace(temporary, file)

    @property
    def replaces_modules(self) -> bool:
        """Whether imports with this finder may load other files than imports without it."""
        return bool(self._roots) or not self._is_working_tree

    def install(self) -> None:
        """Put this finder before all others in `sys.meta_path`, and remove the other side's finder."""
        if not (self._roots or self._redirects):
            return
        plain = (BuiltinImporter, FrozenImporter, *(() if self._redirects else (PathFinder,)))
        finders = (finder for finder in sys.meta_path if not isinstance(finder, Trees))
        originals = (finder.finder if isinstance(finder, _Wrapped) else finder for finder in finders)
        wrapped = (finder if finder in plain else _Wrapped(finder, self) for finder in originals)
        sys.meta_path[:] = [self, *wrapped]

    def install_in_pytest(self) -> None:
        """Let pytest's assertion rewriting, which searches `sys.path` itself, use this finder too."""
        from _pytest.assertion.rewrite import AssertionRewritingHook

        if self._roots or self._redirects:
            AssertionRewritingHook._find_spec = staticmethod(self._find_anywhere)  # type: ignore[assignment] # noqa: SLF001

    def add_tests(self, paths: Iterable[Path], root: Path) -> None:
        """Make test files, or folders of tests, come from the caller's tree; `root` is pytest's rootdir."""
        for path in paths:
            self.tests.add(os.path.realpath(path))
            for name in names_of_tests(path, root):
                package = os.path.join(root, name)
                if not self._redirects or self.tests.has(package) or self.tests.has(f"{package}.py"):
                    self._test_names.add(name)
        if self._file:
            self.save(self._file)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a top-level module in the side's trees; `path` has the folders of its package, if any."""
        if path is not None:  # `search` finds all modules in packages but gnnbench's own
            return PathFinder.find_spec(name, path) if name.startswith(_OWN_MODULES) else None
        if name in self._test_names or name in sys.stdlib_module_names:
            return None
        folders = list(filter(None, map(self.side_path, sys.path)))
        # Packages that pip installed for the variant replace those of the working tree.
        folders = [*self._roots, *folders] if self._is_working_tree else [*folders, *self._roots]
        spec = PathFinder.find_spec(name, folders)
        if spec is not None and spec.origin is None:
            # A namespace package (a folder without __init__.py) has parts in several folders, unless an
            # ordinary package has its name. The parts become a list, because Python would search sys.path
            # for them again whenever sys.path changes.
            spec = PathFinder.find_spec(name, [*folders, *self._side_paths(sys.path)])
            if spec is None or spec.origin is not None:
                return None
            spec.submodule_search_locations = list(spec.submodule_search_locations or ())
        elif spec is not None:
            self.complete.add(name)
        if spec is not None:
            self.loaded[name] = None
        return spec or self._find_ignored(name, sys.path)

    def search(self, name: str, folders: Sequence[str]) -> ModuleSpec | None:
        """Search folders for a module as Python does, but search the side's copy of a folder if there is one.

        Test files are searched for in the folders themselves, not in copies.
        """
        last = name.rpartition(".")[2]
        located = filter(None, map(self._locate, folders))
        sources = [os.path.join(redirect.source, inner).rstrip(os.sep) for redirect, inner in located]
        for source in sources:
            if any(map(self.tests.has, (f"{source}{os.sep}{last}", f"{source}{os.sep}{last}.py"))):
                spec = PathFinder.find_spec(name, [source])
                if spec is not None:
                    return spec
        spec = PathFinder.find_spec(name, self._side_paths(folders))
        if spec is None:  # the caller's tree may have a new module next to its tests
            test_folders = {os.path.dirname(file) for file in self.tests.collected}
            spec = PathFinder.find_spec(name, [source for source in sources if source in test_folders])
        return spec or self._find_ignored(name, folders)

    def _side_paths(self, folders: Iterable[str]) -> list[str]:
        return [self.side_path(folder) or folder for folder in folders]

    def side_path(self, path: str) -> str | None:
        """Return the path of this side's copy of a file or folder. Returns None if both sides use `path`."""
        real = self._real(path)
        names = ((redirect.tree, redirect.name(real)) for redirect in self._redirects)
        copies = [os.path.join(tree, name).rstrip(os.sep) for tree, name in names if name is not None]
        return copies[0] if copies and not self.tests.has(real) else None

    def _real(self, path: str) -> str:
        """Return a path with its symbolic links resolved, from a cache."""
        path = path or os.getcwd()
        if path not in self._reals:
            self._reals[path] = os.path.realpath(path)
        return self._reals[path]

    def caller_path(self, path: str) -> tuple[str, bool] | None:
        """Return a tracked file's path in the caller's tree, and whether `path` is that file, not a copy.

        Returns None for all other files.
        """
        redirect, name = self._locate(path) or (None, "")
        if not redirect or not name or name not in redirect.tracked:
            return None
        file = os.path.join(redirect.source, name)
        return file, redirect.tree != redirect.source and file == self._real(path)

    def unverified_build(self, path: str) -> str | None:
        """Return a file's real path if it may be built from other sources than this side's, or else None."""
        real = self._real(path)
        return real if any(redirect.may_use(real) is False for redirect in self._redirects) else None

    def _locate(self, path: str) -> tuple[Redirect, str] | None:
        """Return the redirect whose `source` or `tree` contains a path, and the relative path, or None."""
        real = self._real(path)
        for redirect in self._redirects:
            for name in (below(real, redirect.tree), redirect.name(real)):
                if name is not None:
                    return redirect, name
        return None

    def _find_ignored(self, name: str, folders: Iterable[str]) -> ModuleSpec | None:
        """Find a module that git ignores in the caller's tree, such as one that a build made."""
        last = name.rpartition(".")[2]
        for redirect, folder in filter(None, map(self._locate, folders)):
            names = (os.path.join(folder, f"{last}{ending}") for ending in (*SUFFIXES, "/"))
            if module := next(filter(redirect.ignored.__contains__, names), None):
                path = os.path.join(redirect.source, module).rstrip(os.sep)
                (self.borrowed if redirect.uses_builds else self.withheld)[path] = None
                return PathFinder.find_spec(name, [os.path.dirname(path)]) if redirect.uses_builds else None
        return None

    def find_distributions(self, context: Any = None) -> Iterable[importlib.metadata.Distribution]:
        """Find the metadata, such as versions, of packages that pip installed into the trees."""
        import importlib.metadata

        context = context or importlib.metadata.DistributionFinder.Context()
        if "path" in vars(context):
            return ()
        query = importlib.metadata.DistributionFinder.Context(name=context.name, path=self._roots)
        return importlib.metadata.MetadataPathFinder.find_distributions(query)

    def _find_anywhere(self, name: str, path: Sequence[str] | None = None) -> ModuleSpec | None:
        """Find a module in the side's trees or, as Python would, in `sys.path`."""
        return self.find_spec(name, path) or self.search(name, sys.path if path is None else path)


class _Wrapped:
    """Wraps `finder`: if `finder` finds a module in the caller's tree, the side's copy of it is loaded."""

    def __init__(self, finder: Any, trees: Trees) -> None:
        self.finder, self._trees = finder, trees

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if self.finder is PathFinder:
            return self._trees.search(name, sys.path if path is None else path)
        is_replaced = name.partition(".")[0] in self._trees.complete
        spec = None if is_replaced else self.finder.find_spec(name, path, target)
        if spec is None:
            return None
        for location in (spec.origin, *(spec.submodule_search_locations or ())):
            if location and (side_path := self._trees.side_path(location)):
                is_package = location == spec.origin and os.path.basename(location).startswith("__init__.")
                folder = os.path.dirname(os.path.dirname(side_path) if is_package else side_path)
                side_spec = PathFinder.find_spec(name, [folder])
                if side_spec is not None and "." not in name:
                    self._trees.loaded[name] = None
                return side_spec
        return spec

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)
