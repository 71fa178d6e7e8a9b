"""The origin of the code that this process imported: what is needed to install the code again."""

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
"""Path of the tree with the benchmarks: pytest's rootdir."""
LOCAL = "file:"
"""Prefix of the origin of packages that were installed from a local file or folder."""

_MEASURED = ("numpy", "scipy", *LIBRARIES)
"""Distributions that are listed even if a plugin of pytest requires them."""
_STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))


@dataclass(frozen=True)
class Tree:
    """A folder with source code that is not installed, such as a working tree of git."""

    path: str
    """Relative to the rootdir, as in the variants `path:DIR` and `git:DIR@REF`."""
    commit: str | None
    """Full hash of the commit. None if git does not track the folder."""
    changed_files: int
    """Number of tracked files of the repository that differ from the commit."""
    packages: tuple[str, ...]
    """Top-level modules that were imported from the folder."""
    compiled: bool
    """Whether the process loaded a native library from the repository."""

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
    """URL for pip, with the commit. For a local file or folder, it ends with a hash of the installed files.
    None if the package is from an index, or if its origin is unknown."""


@dataclass(frozen=True)
class Sources:
    """The origins of the imported code."""

    python: str
    """Major and minor version of Python."""
    trees: tuple[Tree, ...]
    packages: Mapping[str, Package]
    """Distributions by name, which is normalized as in the names of wheels: `torch_geometric`."""


def collect(root: Path, suite: Collection[str] = ()) -> Sources:
    """Return the origins of all imported modules.

    A module came from a tree if git tracks its file, or if it is part of neither a distribution nor Python.
    Tools are left out: pytest, its plugins (gnnbench is one), and their dependencies, except NumPy, SciPy and
    environment.LIBRARIES. A checkout of gnnbench is listed only if it is `root`.

    `root`: pytest's rootdir.
    `suite`: names of top-level modules and of folders in `root` that have benchmarks, and are left out.
    """
    root = root.resolve()
    folders = tuple(folder for folder in sys.path if any(Path(folder).glob("*-info")))
    distributions, tools, tracked = _distributions(folders), _tools(), cache(git.tracked)
    trees: dict[Path, set[str]] = {root: set()}
    packages: dict[str, Package] = {}
    for name, path in _imported():
        folder = path.parent.parent if path.parent.name == "src" else path.parent
        parts = folder.relative_to(root).parts if folder.is_relative_to(root) else ()
        if name in suite or (parts and parts[0] in suite) or (name == "gnnbench" and folder != root):
            continue
        owners = set(map(_normalized, distributions.get(name, ())))
        candidates = {owner: package for owner in owners - tools if (package := installed(owner))}
        is_tracked = path.name in tracked(path.parent)
        if candidates and not is_tracked:
            packages |= candidates
        elif is_tracked or not (tracked(path.parent) or owners & tools or _is_installed(path.parent)):
            trees.setdefault(folder, set()).add(name)
    records = [_tree(folder, names, root, bool(tracked(folder))) for folder, names in trees.items()]
    return Sources(
        f"{sys.version_info.major}.{sys.version_info.minor}",
        tuple(sorted(records, key=lambda tree: tree.path)),
        dict(sorted(packages.items())),
    )


@cache
def _distributions(_folders: tuple[str, ...]) -> Mapping[str, list[str]]:
    """Return distributions by top-level module. Cached, because this takes most of a second."""
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
        origin = None  # for example, packages of conda were built on other machines
    elif origin and origin.startswith(LOCAL):
        # The file or folder may change while the version stays the same.
        content = distribution.read_text("RECORD") or ""
        origin += f"#installed={hashlib.sha256(content.encode()).hexdigest()[:16]}"
    if folder := direct_url.get("subdirectory"):
        origin += f"#subdirectory={folder}"
    return Package(distribution.version, origin)


def _imported() -> Iterator[tuple[str, Path]]:
    """Yield the name of each imported top-level module with its file or, for a package, its folders."""
    names = {name.partition(".")[0] for name in list(sys.modules)} - sys.stdlib_module_names
    for name in sorted(names - {"__main__", "__mp_main__"}):
        module = sys.modules.get(name)
        if isinstance(module, ModuleType):
            paths = vars(module).get("__path__") or [vars(module).get("__file__")]
            # Only the folder is resolved, because a variant finds a linked file by the name of the link.
            yield from ((name, Path(path).parent.resolve() / Path(path).name) for path in paths if path)


def _tree(folder: Path, names: Collection[str], root: Path, is_tracked: bool) -> Tree:
    return Tree(
        Path(os.path.relpath(folder, root)).as_posix(),
        git.full_hash(folder) if is_tracked else None,
        git.changed_files(folder) if is_tracked else 0,
        tuple(sorted(names)),
        _has_loaded_libraries(git.top(folder) if is_tracked else folder),
    )


def _has_loaded_libraries(folder: Path) -> bool:
    """Return whether a native library was loaded from a folder, but not from this virtual environment."""
    prefix = Path(sys.prefix)
    return any(
        library.is_relative_to(folder)
        and not _is_installed(library)
        and not (prefix.is_relative_to(folder) and library.is_relative_to(prefix))
        for library in libraries.loaded(len(sys.modules))
    )


def _tools() -> set[str]:
    """Return the normalized names of pytest, its plugins and their dependencies."""
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


def _is_installed(path: Path) -> bool:
    """Return whether a path is the standard library, or in a folder for installed packages."""
    return path == _STANDARD_LIBRARY or not {"site-packages", "dist-packages"}.isdisjoint(path.parts)
