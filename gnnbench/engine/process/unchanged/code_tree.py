"""Reads the code of one side (base or head): in which file a module is, and what the files contain."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from importlib.machinery import PathFinder
from pathlib import Path

from ...ground.files import cache_folder, project, real_path
from ...measure.fingerprint.digest import of_bytes, short
from ...measure.fingerprint.libraries import NATIVE, library_hash
from ..variants.import_roots import SUFFIXES, TEST_NAMES, TestFiles, below
from ..variants.redirects import import_roots
from ..variants.variant import Prepared
from ..variants.worktree import WORKTREES

ABSENT = ""
"""The hash of a file that does not exist."""
_METADATA = (".dist-info", ".egg-info", ".pth")
_CACHE = "__pycache__"
_LARGE_BYTES = 1 << 26
"""Larger files outside of the side's code are compared by size and time instead of content."""


class CodeTree:
    """The folders, called roots, from which a side imports the code that is compared.

    The name of a file is relative to the first root that has it. If the side has no code of its own, the last
    root is the project that contains `folder`, pytest's working directory. The `suite` is not compared.
    `sources`: the folders of the working tree of which a side has a checkout.
    """

    def __init__(
        self, side: Prepared, folder: Path, suite: Iterable[Path], sources: Iterable[str] = ()
    ) -> None:
        self._project = os.path.realpath(project(folder))
        last_roots = () if side.has_code else import_roots(Path(self._project))
        checkouts = {source: source for source in sources}
        checkouts |= {redirect.source: redirect.tree for redirect in side.redirects}
        self._sources = {os.path.realpath(tree): source for source, tree in checkouts.items()}
        self._side_trees = list(map(real_path, side.trees))
        self._roots = [str(real_path(root)) for root in (*side.trees, *last_roots, *map(Path, self._sources))]
        self._tests = TestFiles([*checkouts, self._project])
        for path in suite:
            self._tests.add(os.path.realpath(path))
        self._hashes: dict[str, str] = {}
        PathFinder.invalidate_caches()

    def name(self, path: str) -> str | None:
        """Return the name of a file or folder. Returns None if it is outside all roots, or in the suite."""
        for location in (path, os.path.realpath(path)):
            for root in self._roots:
                name = below(location, root)
                if name == "":
                    return "."
                if name:
                    is_suite = self._tests.has(self._callers_path(location, name))
                    is_hidden = self.path(name) not in (location, None)  # by a file in an earlier root
                    return None if is_suite or is_hidden else name
        return None

    def _callers_path(self, path: str, name: str) -> str:
        """Return the path of a file in the user's working tree, given its path and name on this side."""
        for tree, source in self._sources.items():
            if inner_name := below(path, tree):
                return os.path.join(source, inner_name)
        return os.path.join(self._project, name)

    def is_inside(self, path: str) -> bool:
        """Whether a path is in this side's folders or in a checkout, which the other side does not use."""
        return any(below(path, str(root)) for root in (*self._side_trees, cache_folder() / WORKTREES))

    def path(self, name: str) -> str | None:
        """Return the path of a file or folder, given its name. Returns None if no root has it."""
        paths = (os.path.join(root, name) for root in self._roots)
        return next(filter(os.path.exists, paths), None)

    def content(self, name: str) -> bytes | None:
        """Return what a file contains. Returns None if it does not exist."""
        path = self.path(name)
        with suppress(OSError):  # what cannot be read here cannot be read by the side's processes either
            return Path(path).read_bytes() if path and os.path.isfile(path) else None
        return None

    def digest(self, name: str) -> str:
        """Return a hash of what a file contains, or ABSENT."""
        if name not in self._hashes:
            path = self.path(name)
            if path and os.path.isabs(name) and os.path.getsize(path) > _LARGE_BYTES:
                return f"{os.path.getsize(path)} {os.path.getmtime(path)}"
            content = self.content(name)
            self._hashes[name] = ABSENT if content is None else of_bytes(content)
        return self._hashes[name]

    def names_in(self, name: str) -> str:
        """Return a hash of the names of a folder's visible entries, or ABSENT."""
        try:
            names = sorted({*os.listdir(self.path(name) or name)} - {_CACHE})
        except OSError:
            return ABSENT
        return short(*(name for name in names if not name.startswith(".")))

    def package(self, name: str, folders: Sequence[str] = ()) -> str:
        """Return a hash of a top-level package's module names and native libraries, or ABSENT.

        `folders`: other folders in which packages are looked for, as absolute paths or names in the roots.
        """
        paths = (os.path.join(root, folder) for folder in ("", *folders) for root in self._roots)
        spec = None if name in TEST_NAMES else PathFinder.find_spec(name, [*dict.fromkeys(paths)])
        if spec is None:
            return ABSENT
        texts = [os.path.basename(spec.origin or "")]
        for location in spec.submodule_search_locations or ():
            for parent, subfolders, names in os.walk(location):
                subfolders[:] = sorted(filter(str.isidentifier, {*subfolders} - {*TEST_NAMES, _CACHE}))
                for file in (Path(parent, name) for name in sorted(names) if name.endswith(SUFFIXES)):
                    content = library_hash(file) if NATIVE.search(file.name) else ""
                    texts += [os.path.relpath(file, location), content]
        return short(*texts)

    def time(self, name: str) -> float:
        """Return when a file or a folder's newest file was written or moved, in seconds; 0 without files."""
        path = Path(self.path(name) or name)
        with suppress(OSError):
            stats = map(os.stat, filter(os.path.isfile, (path, *path.glob("[!.]*.py"))))
            return max((max(stat.st_mtime, stat.st_ctime) for stat in stats), default=0)
        return 0

    @cached_property
    def metadata(self) -> str:
        """A hash of the packages' metadata and of the `.pth` files in the side's own trees."""
        texts = []
        for root in self._side_trees:
            entries = (entry for entry in root.iterdir() if entry.name.endswith(_METADATA))
            for file in sorted(file for entry in entries for file in (entry, *entry.rglob("*"))):
                content = file.read_bytes() if file.is_file() else b""
                texts += [str(file.relative_to(root)), of_bytes(content)]
        return short(*texts)
