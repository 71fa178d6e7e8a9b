"""Where a side has the files of the caller's tree, and which of these differ."""

import filecmp
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ...ground import git
from ...ground.files import real_path
from .import_roots import SUFFIXES, Place

_COMPILED = (
    *(".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".inc", ".i"),
    *(".m", ".mm", ".S", ".s"),
    *(".pyx", ".pxd", ".pxi", ".rs", ".go", ".f", ".f90", ".f95", ".for", ".asm", ".proto", ".cmake", ".in"),
)
"""Endings of files from which a build compiles or generates others."""
_BUILD = (
    *("pyproject.toml", "setup.py", "setup.cfg", "CMakeLists.txt", "meson.build", "meson_options.txt"),
    *("Makefile", "MANIFEST.in", "Cargo.toml", "Cargo.lock", "build.py", "hatch_build.py", "pdm_build.py"),
)
"""Files that say how."""
_ENVIRONMENT = "pyvenv.cfg"
_SKIPPED = ("build", "dist", "node_modules", "__pycache__")


def of_commit(folder: Path, commit: str, tree: Path, *, is_built: bool, in_use: Iterable[str]) -> Place:
    """Return the place of a repository whose commit is checked out; if that was built, it borrows nothing.

    `in_use`: compiled modules of the caller's that are installed.
    """
    top = real_path(git.top(folder))
    tracked = git.tracked_files(top) | git.files_of(top, commit) | _submodules(top, commit)
    changed = frozenset(_changed(top, tree, tracked))
    if is_built:  # what is ignored is not looked for, and none of the caller's if it is found
        foreign = (*in_use, *(str(top / name) for name in git.ignored(top) if name.endswith(SUFFIXES)))
        return Place(str(top), str(tree), tracked, (), foreign, changed=changed)
    return _unbuilt(top, tree, tracked, changed, in_use)


def of_folder(source: Path, tree: Path, in_use: Iterable[str]) -> Place:
    """Return the place of a project for which another folder is used, whose files all count."""
    tracked = git.tracked_files(tree) or frozenset(_files(tree))
    return _unbuilt(source, tree, tracked, frozenset(_changed(source, tree, tracked)), in_use)


def _unbuilt(
    source: Path, tree: Path, tracked: frozenset[str], changed: frozenset[str], in_use: Iterable[str]
) -> Place:
    ignored = [name for name in git.ignored(source) if name.endswith((*SUFFIXES, "/"))]
    terms = str(source), str(tree), tracked, ignored, in_use
    borrows, sources = not any(map(is_compiled, changed)), filter(_is_source, tracked)
    return Place(*terms, changed=changed, borrows=borrows, sources=sources)


def of_working_tree(place: Place) -> Place:
    """Return one of the caller's folder itself: with it, imports take as long as those of the other side."""
    terms = place.source, place.source, place.tracked, place.ignored, place.foreign
    return Place(*terms, borrows=True, sources=place.sources)


def differing(base: Iterable[Place], head: Iterable[Place]) -> frozenset[str]:
    """Return the paths, in the caller's tree, of the tracked files that differ between two sides."""
    sides = [{place.source: place for place in places} for places in (base, head)]
    paths = set()
    for source in sides[0].keys() | sides[1].keys():
        places = [side[source] for side in sides if source in side]
        names = frozenset[str]().union(*(place.changed for place in places))
        if len(places) > 1:
            names = frozenset(_changed(Path(places[0].tree), Path(places[1].tree), names))
        paths |= {os.path.join(source, name) for name in names}
    return frozenset(paths)


def _submodules(top: Path, commit: str) -> frozenset[str]:
    names: set[str] = set()
    for path, (repository, at) in git.submodules(top, commit).items():
        names |= {f"{path}/{name}" for name in git.files_of(repository, at)}
    return frozenset(names)


def _changed(source: Path, tree: Path, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        files = source / name, tree / name
        there = [os.path.isfile(file) for file in files]
        is_same = filecmp.cmp(*files, shallow=False) if all(there) else not any(there)
        if not is_same:
            yield name


def _is_source(name: str) -> bool:
    return name.endswith(_COMPILED)


def is_compiled(name: str) -> bool:
    """Whether a build may depend on a file."""
    return os.path.basename(name) in _BUILD or _is_source(name)


def _files(folder: Path) -> Iterator[str]:
    """Yield the names of the files in a folder without git, excluding environments and what builds leave."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if name not in _SKIPPED
            and not name.startswith(".")
            and not os.path.exists(os.path.join(parent, name, _ENVIRONMENT))
        ]
        yield from (os.path.relpath(os.path.join(parent, name), folder) for name in names)
