"""The import roots of one side: which file has a module, and what files contain."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from ...ground.files import cache_folder, project, real_path
from ...measure.fingerprint.libraries import NATIVE, identity
from ..variants.import_roots import LEFT, SUFFIXES, TestFiles, below
from ..variants.preparation import import_roots
from ..variants.prepare import Prepared
from ..variants.worktree import WORKTREES

ABSENT = ""
"""In place of a hash: there is no such file."""
_METADATA = (".dist-info", ".egg-info", ".pth")
_MADE = "__pycache__"
_LARGE = 1 << 26
"""Of larger files outside the tree, size and time count instead of the content."""


class CodeTree:
    """The folders from which a side imports the code that is compared.

    Names of files are relative to the first of these folders that has them.

    Args:
        folder: pytest's working directory. Its project is the last root of a side without code of its own.
        suite: the folders and files of the suite, which is not part of the code that is compared.
        sources: folders of the caller of which one of the sides has a checkout.
    """

    def __init__(
        self, given: Prepared, folder: Path, suite: Iterable[Path], sources: Iterable[str] = ()
    ) -> None:
        here = () if given.has_code else import_roots(project(folder))
        own = str(real_path(project(folder)))
        checkouts = {source: source for source in sources} | {
            place.source: place.tree for place in given.places
        }
        self._sources = {str(real_path(Path(tree))): source for source, tree in checkouts.items()}
        self._roots = [real_path(root) for root in (*given.trees, *here, *map(Path, self._sources))]
        self._trees = [real_path(root) for root in given.trees]
        self._own = own
        self._tests = TestFiles([*checkouts, own])
        for place in suite:
            self._tests.add(str(real_path(place)))
        self._hashes: dict[str, str] = {}
        self._folders: dict[str, frozenset[str]] = {}
        self._natives: dict[str, str] = {}

    def name(self, path: str) -> str | None:
        """Return the name of a file or folder; None: it is in none of the roots, or part of the suite."""
        for place in (path, os.path.realpath(path)):
            for root in self._roots:
                if place == str(root):
                    return "."
                if place.startswith(f"{root}{os.sep}"):
                    name = os.path.relpath(place, root)
                    is_suite = self._tests.has(self._callers(place, name))
                    return None if is_suite or self.path(name) not in (place, None) else name
        return None

    def _callers(self, path: str, name: str) -> str:
        """Return the path of a file in the caller's tree, given its path and name in this one."""
        for tree, source in self._sources.items():
            if inside := below(path, tree):
                return os.path.join(source, inside)
        return os.path.join(self._own, name)

    def is_inside(self, path: str) -> bool:
        """Whether a path is in a folder of this side alone, so that the other side has another file there."""
        own = (*self._trees, cache_folder() / WORKTREES)
        return any(path.startswith(f"{root}{os.sep}") for root in own)

    def path(self, name: str) -> str | None:
        """Return the path of the first file or folder of a name; None: there is none."""
        paths = (os.path.join(root, name) for root in self._roots)
        return next(filter(os.path.exists, paths), None)

    def content(self, name: str) -> bytes | None:
        """Return what a file contains; None: there is no such file."""
        path = self.path(name)
        return Path(path).read_bytes() if path and os.path.isfile(path) else None

    def digest(self, name: str) -> str:
        """Return a hash of what a file contains, or ABSENT."""
        if name not in self._hashes:
            content = self.content(name)
            self._hashes[name] = ABSENT if content is None else hashlib.sha256(content).hexdigest()
        return self._hashes[name]

    def names_in(self, name: str) -> str:
        """Return a hash of the names in a folder, without hidden ones, or ABSENT."""
        path = self.path(name)
        return ABSENT if path is None else names_in(path)

    def resolved(self, module: str, folders: Sequence[str] = ()) -> str:
        """Return the name of the file that an import of a module loads first.

        A folder without `__init__` ends with a separator. Where a link leads follows. ABSENT: no root has it.
        """
        *parents, last = module.split(".")
        if (parents or [last])[0] in LEFT:
            return ABSENT
        names = (self._first(parents, last, folder) for folder in ("", *folders))
        name = next(filter(None, names), ABSENT)
        path = self.path(name.rstrip(os.sep)) if name else None
        if path is None or (real := os.path.realpath(path)) == path:
            return name
        return f"{name} {os.path.relpath(real, self._roots[0])}"

    def _first(self, parents: Sequence[str], last: str, folder: str) -> str:
        place = os.path.join(folder, *parents, last)
        for root in self._roots:
            path = os.path.join(root, place)
            for suffix in SUFFIXES:
                if f"__init__{suffix}" in self._listed(path):
                    return os.path.join(place, f"__init__{suffix}")
            for suffix in SUFFIXES:
                if f"{last}{suffix}" in self._listed(os.path.dirname(path)):
                    return f"{place}{suffix}"
        is_folder = any(os.path.isdir(os.path.join(root, place)) for root in self._roots)
        return f"{place}{os.sep}" if is_folder else ABSENT

    def _listed(self, path: str) -> frozenset[str]:
        if path not in self._folders:
            try:
                self._folders[path] = frozenset(os.listdir(path))
            except OSError:
                self._folders[path] = frozenset()
        return self._folders[path]

    def native(self, package: str) -> str:
        """Return a hash of all native libraries in a top-level package, which count as parts of its code."""
        if package in self._natives:
            return self._natives[package]
        found = hashlib.sha256()
        for root in self._roots:
            for parent, folders, names in os.walk(os.path.join(root, package)):
                folders.sort()
                for name in sorted(filter(NATIVE.search, names)):
                    path = Path(parent, name)
                    found.update(f"{path.relative_to(root)}\0{identity(path)}\0".encode())
        return self._natives.setdefault(package, found.hexdigest())

    @cached_property
    def metadata(self) -> str:
        """A hash of the metadata of packages in the side's own trees, and of their `.pth` files."""
        found = hashlib.sha256()
        for root in self._trees:
            for entry in sorted(root.iterdir()):
                if entry.name.endswith(_METADATA):
                    for file in sorted((entry, *entry.rglob("*"))):
                        content = file.read_bytes() if file.is_file() else b""
                        found.update(f"{file.relative_to(root)}\0".encode() + content + b"\0")
        return found.hexdigest()


def names_in(path: str) -> str:
    """Return a hash of the names in a folder, without hidden ones, or ABSENT."""
    try:
        names = sorted(name for name in os.listdir(path) if not name.startswith(".") and name != _MADE)
    except OSError:
        return ABSENT
    return hashlib.sha256("\0".join(names).encode("utf-8", "surrogateescape")).hexdigest()


def state_of(path: str) -> str:
    """Return a hash of a file's content, or of size and time of a large one, or ABSENT."""
    try:
        stat = os.stat(path)
        if stat.st_size > _LARGE:
            return f"{stat.st_size} {stat.st_mtime_ns}"
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ABSENT


def searched(path: str, modules: Iterable[str]) -> list[str]:
    """Return the names in a folder that are the first part of a module's name."""
    try:
        names = {name.partition(".")[0] for name in os.listdir(path)}
    except OSError:
        return []
    return sorted(names & {name.partition(".")[0] for name in modules})
