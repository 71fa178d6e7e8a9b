"""Where the code that this process imported came from, so that it can be built again."""

import hashlib
import json
import os
import sys
import sysconfig
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ..ground import git
from ..ground.environment import LIBRARIES
from .fingerprint import libraries

CALLERS_TREE = "."
"""Path of the tree that contains the benchmarks: pytest's rootdir."""
LOCAL = "file:"
"""Beginning of the origin of a package that was installed from a local file or folder."""

_MEASURED = ("numpy", "scipy", *LIBRARIES)
"""Distributions that are listed although pytest's plugins may require them."""
_STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))


@dataclass(frozen=True)
class Tree:
    """A folder with source code that is not installed, such as a work tree of git."""

    path: str
    """Relative to the rootdir, as in the variants `path:DIR` and `git:DIR@REF`."""
    commit: str | None
    """None if git does not track the folder."""
    changed_files: int
    """Number of tracked files in its repository that differ from the commit."""
    packages: tuple[str, ...]
    """Top-level names that were imported from the folder and that a variant can replace."""
    compiled: bool
    """Whether a native library was loaded from its repository."""

    @property
    def dirty(self) -> bool:
        """Whether tracked files differ from the commit."""
        return bool(self.changed_files)

    @property
    def name(self) -> str:
        """The path, or `this project` for the tree of the benchmarks."""
        return "this project" if self.path == CALLERS_TREE else self.path


@dataclass(frozen=True)
class Package:
    """An installed distribution."""

    version: str
    origin: str | None = None
    """URL for pip, with the commit. For a local file, it ends with a hash of what was installed. None for a
    package index, or if unknown."""


@dataclass(frozen=True)
class Sources:
    """Where imported code came from."""

    python: str
    """Major and minor version."""
    trees: tuple[Tree, ...]
    packages: Mapping[str, Package]
    """By name of the distribution, normalized as in the names of wheels: `torch_geometric`."""


def collect(root: Path, suite: Collection[str] = ()) -> Sources:
    """Find out where all imported modules came from.

    A module came from a tree if git tracks it, or if it is neither part of an installed distribution nor of
    Python. Distributions that only measure are left out: pytest, its plugins, gnnbench among them, and what
    these require, except NumPy, SciPy and environment.LIBRARIES. A checkout of gnnbench is listed only if it
    is the caller's tree.

    `suite`: the top-level names, and the first folders below `root`, that contain the benchmarks.
    """
    root = root.resolve()
    places = tuple(place for place in sys.path if any(Path(place).glob("*-info")))
    distributions, tools, tracked = _distributions(places), _tools(), cache(git.tracked)
    trees: dict[Path, set[str]] = {root: set()}
    packages: dict[str, Package] = {}
    for name, path in _imported():
        folder = path.parent.parent if path.parent.name == "src" else path.parent
        parts = folder.relative_to(root).parts if folder.is_relative_to(root) else ()
        if name in suite or (parts and parts[0] in suite) or (name == "gnnbench" and folder != root):
            continue
        owners = set(map(_normalized, distributions.get(name, ())))
        candidates = {owner: package for owner in owners - tools if (package := installed(owner))}
        if path.name in tracked(path.parent):
            trees.setdefault(folder, set()).add(name)
        elif candidates:
            packages |= candidates
        elif not (tracked(path.parent) or owners & tools or _is_pythons(path.parent)):
            trees.setdefault(folder, set()).add(name)
    records = [_tree(folder, names, root, bool(tracked(folder))) for folder, names in trees.items()]
    return Sources(
        f"{sys.version_info.major}.{sys.version_info.minor}",
        tuple(sorted(records, key=lambda tree: tree.path)),
        dict(sorted(packages.items())),
    )


@cache
def _distributions(_places: tuple[str, ...]) -> Mapping[str, list[str]]:
    """Return the distributions of each top-level name; looking them up takes most of a second."""
    return metadata.packages_distributions()


def installed(name: str) -> Package | None:
    """Return an installed distribution. Returns None if it is not installed, or is an editable checkout."""
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    direct_url = json.loads(distribution.read_text("direct_url.json") or "{}")
    if direct_url.get("dir_info", {}).get("editable"):
        return None
    origin = direct_url.get("url")
    if vcs := direct_url.get("vcs_info"):
        origin = f"{vcs['vcs']}+{origin}@{vcs['commit_id']}"
    elif origin and origin.startswith(LOCAL) and not Path(unquote(urlsplit(origin).path)).exists():
        origin = None  # built elsewhere, as packages of conda are
    elif origin and origin.startswith(LOCAL):
        # The file or folder may change while the version stays the same.
        content = distribution.read_text("RECORD") or ""
        origin += f"#installed={hashlib.sha256(content.encode()).hexdigest()[:16]}"
    if folder := direct_url.get("subdirectory"):
        origin += f"#subdirectory={folder}"
    return Package(distribution.version, origin)


def _imported() -> Iterator[tuple[str, Path]]:
    """Yield each imported top-level name, and the file or folders that it was imported from."""
    names = {name.partition(".")[0] for name in list(sys.modules)} - sys.stdlib_module_names
    for name in sorted(names - {"__main__", "__mp_main__"}):
        module = sys.modules.get(name)
        if isinstance(module, ModuleType):
            places = vars(module).get("__path__") or [vars(module).get("__file__")]
            # Only the folder is resolved: the file may be a link, which a variant finds by its own name.
            yield from ((name, Path(place).parent.resolve() / Path(place).name) for place in places if place)


def _tree(folder: Path, names: Collection[str], root: Path, in_git: bool) -> Tree:
    return Tree(
        Path(os.path.relpath(folder, root)).as_posix(),
        git.full_hash(folder) if in_git else None,
        git.changed_files(folder) if in_git else 0,
        tuple(sorted(names)),
        _has_loaded_libraries(git.top(folder) if in_git else folder),
    )


def _has_loaded_libraries(folder: Path) -> bool:
    """Whether a native library was loaded from a folder, outside a virtual environment in it."""
    prefix = Path(sys.prefix)
    return any(
        library.is_relative_to(folder)
        and not _is_pythons(library)
        and not (prefix.is_relative_to(folder) and library.is_relative_to(prefix))
        for library in libraries.loaded(len(sys.modules))
    )


def _tools() -> set[str]:
    """Return the normalized names of the distributions that only measure."""
    plugins = metadata.entry_points(group="pytest11")
    stack = ["pytest", *(plugin.dist.name for plugin in plugins if plugin.dist)]
    tools: set[str] = set()
    while stack:
        name = _normalized(stack.pop())
        if name in tools or name in _MEASURED:
            continue
        tools.add(name)
        with suppress(metadata.PackageNotFoundError):
            needs = map(Requirement, metadata.requires(name) or ())
            stack += [need.name for need in needs if not need.marker or need.marker.evaluate({"extra": ""})]
    return tools


def _normalized(name: str) -> str:
    return canonicalize_name(name).replace("-", "_")


def _is_pythons(path: Path) -> bool:
    """Whether a path is the standard library's folder, or below one for installed packages."""
    return path == _STANDARD_LIBRARY or not {"site-packages", "dist-packages"}.isdisjoint(path.parts)
