"""Redirects: where a side has its copies of the user's files, and which of these copies differ."""

import filecmp
import importlib.metadata
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ...ground import git
from ...ground.files import real_path
from ...measure.fingerprint.libraries import NATIVE
from .import_roots import SUFFIXES, Redirect

_COMPILED = (
    *(".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".inc", ".i"),
    *(".m", ".mm", ".S", ".s"),
    *(".pyx", ".pxd", ".pxi", ".rs", ".go", ".f", ".f90", ".f95", ".for", ".asm", ".proto", ".cmake", ".in"),
)
"""Suffixes of files from which a build compiles code, or generates other files."""
_BUILD = (
    *("pyproject.toml", "setup.py", "setup.cfg", "CMakeLists.txt", "meson.build", "meson_options.txt"),
    *("Makefile", "MANIFEST.in", "Cargo.toml", "Cargo.lock", "build.py", "hatch_build.py", "pdm_build.py"),
)
"""Files that configure a build."""
_COMPILES = re.compile(
    r"ext[_-]modules|Extension\(|cythonize|cffi_modules|rust_?extensions|setuptools.rust|maturin|mesonpy"
    r"|scikit.build|skbuild|mypycify|pybind11|nanobind|cpp_extension"
)
"""Words in the files of _BUILD that show that a build compiles code."""
_NAME = re.compile(r"\bname\s*=\s*[\"']?([\w.-]+)")
"""The name of the project in the files of _BUILD."""
_NOT_ISOLATED = re.compile(r"cpp_extension|import (torch|numpy)")
"""Words in the files of _BUILD that show that a build needs the installed torch or NumPy."""
_SKIPPED = re.compile(r"(^|/)(\..*|build|dist|node_modules|__pycache__)/")
"""Folders with files that no project tracks."""


def of_commit(home: Path, commit: str, tree: Path, *, is_built: bool) -> Redirect:
    """Return a redirect from a repository to a commit of it that is checked out, perhaps built, in `tree`."""
    top = real_path(git.top(home))
    tracked = git.tracked_files(top) | git.files_of(top, commit)
    for path, (repository, oid) in git.submodules(top, commit).items():
        tracked |= {f"{path}/{name}" for name in git.files_of(repository, oid)}
    if is_built:  # the side may not use modules that were built from the caller's files
        ignored = (str(top / name) for name in git.ignored(top) if name.endswith(SUFFIXES))
        compiled = (*compiled_modules(home), *ignored)
        changed = _changed(top, tree, tracked)
        return Redirect(str(top), str(tree), tracked, compiled=compiled, changed=changed)
    return _without_build(top, tree, tracked, home)


def import_roots(folder: Path) -> tuple[Path, ...]:
    source = folder / "src"
    return (source, folder) if source.is_dir() else (folder,) if folder.is_dir() else ()


def of_folder(home: Path, tree: Path) -> Redirect:
    """Return a redirect from the project `home` to the folder of `path:DIR`."""
    return _without_build(real_path(home), tree, git.tracked_files(tree) or frozenset(_files(tree)), home)


def _without_build(source: Path, tree: Path, tracked: frozenset[str], home: Path) -> Redirect:
    changed = _changed(source, tree, tracked)
    ignored = [name for name in git.ignored(source) if name.endswith((*SUFFIXES, "/"))]
    return Redirect(
        str(source),
        str(tree),
        tracked,
        ignored=ignored,
        compiled=compiled_modules(home),
        changed=changed,
        uses_builds=not any(map(_is_input, changed)),
        sources=[name for name in tracked if name.endswith(_COMPILED)],
    )


def of_working_tree(redirect: Redirect) -> Redirect:
    """Return a redirect from the user's code to itself: both sides' imports then take equally long."""
    return Redirect(**{**vars(redirect), "tree": redirect.source, "changed": (), "uses_builds": True})


def differing(base: Iterable[Redirect], head: Iterable[Redirect]) -> frozenset[str]:
    """Return the paths, in the user's working tree, of the tracked files that differ between two sides."""
    sides = [{redirect.source: redirect for redirect in redirects} for redirects in (base, head)]
    paths = set()
    for source in sides[0].keys() | sides[1].keys():
        redirects = [side[source] for side in sides if source in side]
        names = frozenset[str]().union(*(redirect.changed for redirect in redirects))
        if len(redirects) > 1:
            names = _changed(Path(redirects[0].tree), Path(redirects[1].tree), names)
        paths |= {os.path.join(source, name) for name in names}
    return frozenset(paths)


def _changed(source: Path, tree: Path, names: Iterable[str]) -> frozenset[str]:
    """Return the names of the files that differ between two folders, or that only one of them has."""
    _, different, missing = filecmp.cmpfiles(source, tree, names, shallow=False)
    return frozenset(
        name for name in (*different, *missing) if (source / name).is_file() or (tree / name).is_file()
    )


def _is_input(name: str) -> bool:
    """Whether a build may depend on a file."""
    return os.path.basename(name) in _BUILD or name.endswith(_COMPILED)


def _files(folder: Path) -> Iterator[str]:
    """Yield the names of the files in a folder, except for virtual environments and outputs of builds."""
    environments = {file.parent for file in folder.rglob("pyvenv.cfg")}
    for file in folder.rglob("*"):
        name = file.relative_to(folder).as_posix()
        if file.is_file() and environments.isdisjoint(file.parents) and not _SKIPPED.search(name):
            yield name


def _settings(home: Path) -> str:
    """Return the text of the files that configure a project's build."""
    text = ""
    for name in _BUILD:
        with suppress(OSError):
            text += (home / name).read_text(encoding="utf-8", errors="replace")
    return text


def compiled_modules(home: Path) -> frozenset[str]:
    """Return the paths of a project's compiled modules that are installed or in a folder of PYTHONPATH."""
    text = _settings(home)
    folders = map(Path, filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
    files = (file for folder in folders for depth in ("*", "*/*") for file in folder.glob(depth))
    natives = (file for file in files if NATIVE.search(file.name))
    words = set(re.findall(r"\w+", text))
    modules = {str(real_path(file)) for file in natives if file.name.partition(".")[0] in words}
    for name in set(_NAME.findall(text)):
        with suppress(importlib.metadata.PackageNotFoundError, ValueError):
            package_files = importlib.metadata.files(name) or ()
            installed = (Path(str(file.locate())) for file in package_files if NATIVE.search(file.name))
            modules |= {str(real_path(file)) for file in installed}
    return frozenset(modules)


def note(home: Path, redirect: Redirect) -> str:
    """Return why a commit has to be built, and the option for that; empty if it need not be built."""
    text = _settings(home)
    if not _COMPILES.search(text):
        return ""
    isolated = " --no-build-isolation" if _NOT_ISOLATED.search(text) else ""
    changed = sorted(filter(_is_input, redirect.changed))
    if not changed and any(NATIVE.search(name) for name in (*redirect.ignored, *redirect.compiled)):
        return ""
    problem = (
        f"its {changed[0]} differs from the working tree's"
        if changed
        else "the working tree has no compiled modules"
    )
    return f"is not built, and {problem}: add --build 'pip install{isolated} .' (pytest: --gnn-build)"
