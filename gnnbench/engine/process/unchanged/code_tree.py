"""The import roots of one side: which file has a module, and what files contain."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from importlib.machinery import PathFinder
from pathlib import Path

from ...ground.files import cache_folder, project, real_path
from ...measure.fingerprint.digest import of_bytes, short
from ...measure.fingerprint.libraries import NATIVE, library_hash
from ..variants.import_roots import LEFT, SUFFIXES, TestFiles, below
from ..variants.places import import_roots
from ..variants.variant import Prepared
from ..variants.worktree import WORKTREES

ABSENT = ""
"""Stands in place of a hash for a file that does not exist."""
_METADATA = (".dist-info", ".egg-info", ".pth")
_CACHE = "__pycache__"
_LARGE = 1 << 26
"""Larger files outside of the tree are compared by size and time instead of content."""


class CodeTree:
    """The folders from which a side imports the code that is compared.

    Names of files are relative to the first of these folders that has them; other files have absolute paths.
    The project of `folder`, pytest's working directory, is the last root of a side without code of its own.
    The `suite` is not part of the code that is compared. `sources` are the folders of the caller that one of
    the sides has in a checkout.
    """

    def __init__(
        self, side: Prepared, folder: Path, suite: Iterable[Path], sources: Iterable[str] = ()
    ) -> None:
        self._project = os.path.realpath(project(folder))
        last_roots = () if side.has_code else import_roots(Path(self._project))
        checkouts = {source: source for source in sources} | {
            place.source: place.tree for place in side.places
        }
        self._sources = {os.path.realpath(tree): source for source, tree in checkouts.items()}
        self._trees = list(map(real_path, side.trees))
        self._roots = [str(real_path(root)) for root in (*side.trees, *last_roots, *map(Path, self._sources))]
        self._tests = TestFiles([*checkouts, self._project])
        for place in suite:
            self._tests.add(os.path.realpath(place))
        self._hashes: dict[str, str] = {}
        PathFinder.invalidate_caches()

    def name(self, path: str) -> str | None:
        """Return the name of a file or folder. Returns None if it is in no root, or part of the suite."""
        for place in (path, os.path.realpath(path)):
            for root in self._roots:
                name = below(place, root)
                if name == "":
                    return "."
                if name:
                    is_suite = self._tests.has(self._callers(place, name))
                    return None if is_suite or self.path(name) not in (place, None) else name
        return None

    def _callers(self, path: str, name: str) -> str:
        """Return the path of a file in the caller's tree, given its path and name in this one."""
        for tree, source in self._sources.items():
            if inner_name := below(path, tree):
                return os.path.join(source, inner_name)
        return os.path.join(self._project, name)

    def is_inside(self, path: str) -> bool:
        """Whether a path is in a folder of this side alone, so that the other side has another file there."""
        return any(below(path, str(root)) for root in (*self._trees, cache_folder() / WORKTREES))

    def path(self, name: str) -> str | None:
        """Return the path of the first file or folder of a name. Returns None if there is none."""
        paths = (os.path.join(root, name) for root in self._roots)
        return next(filter(os.path.exists, paths), None)

    def content(self, name: str) -> bytes | None:
        """Return what a file contains. Returns None if there is none."""
        path = self.path(name)
        return Path(path).read_bytes() if path and os.path.isfile(path) else None

    def digest(self, name: str) -> str:
        """Return a hash of what a file contains, or ABSENT."""
        if name not in self._hashes:
            path = self.path(name)
            if path and os.path.isabs(name) and os.path.getsize(path) > _LARGE:
                return f"{os.path.getsize(path)} {os.path.getmtime(path)}"
            content = self.content(name)
            self._hashes[name] = ABSENT if content is None else of_bytes(content)
        return self._hashes[name]

    def names_in(self, name: str) -> str:
        """Return a hash of the names in a folder, without hidden ones, or ABSENT."""
        try:
            names = sorted({*os.listdir(self.path(name) or name)} - {_CACHE})
        except OSError:
            return ABSENT
        return short(*(name for name in names if not name.startswith(".")))

    def package(self, name: str, folders: Sequence[str] = ()) -> str:
        """Return a hash of the names of a top-level package's modules and of its native libraries, or ABSENT.

        `folders`: names of the folders in which packages are looked for, in addition to the roots.
        """
        places = [os.path.join(root, folder) for folder in ("", *folders) for root in self._roots]
        spec = None if name in LEFT else PathFinder.find_spec(name, places)
        if spec is None:
            return ABSENT
        texts = [os.path.basename(spec.origin or "")]
        for place in spec.submodule_search_locations or ():
            for parent, inner, names in os.walk(place):
                inner[:] = sorted(filter(str.isidentifier, {*inner} - {*LEFT, _CACHE}))
                for file in (Path(parent, name) for name in sorted(names) if name.endswith(SUFFIXES)):
                    content = library_hash(file) if NATIVE.search(file.name) else ""
                    texts += [os.path.relpath(file, place), content]
        return short(*texts)

    def modules_in(self, folder: str) -> set[str]:
        """Return the names of packages and modules in a folder, and of everything else in it."""
        with suppress(OSError):
            return {name.partition(".")[0] for name in os.listdir(folder)}
        return set()

    def time(self, name: str) -> float:
        """Return when a file was written or moved, in seconds; 0 if there is none."""
        with suppress(OSError):
            stat = os.stat(self.path(name) or name)
            return max(stat.st_mtime, stat.st_ctime)
        return 0

    @cached_property
    def metadata(self) -> str:
        """A hash of the metadata of packages in the side's own trees, and of their `.pth` files."""
        texts = []
        for root in self._trees:
            entries = (entry for entry in root.iterdir() if entry.name.endswith(_METADATA))
            for file in sorted(file for entry in entries for file in (entry, *entry.rglob("*"))):
                content = file.read_bytes() if file.is_file() else b""
                texts += [str(file.relative_to(root)), of_bytes(content)]
        return short(*texts)
