"""Overlays: folders in the cache into which pip installs a variant's packages."""

import hashlib
import importlib.metadata
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

from ...ground import units
from ...ground.errors import UsageError, one_line
from ...interfaces import Listener
from . import torch_release
from .command import is_local, is_pinned, pip_install
from .stored import stored
from .variant import local_path

FOLDER = "overlays"
SIZE_VARIABLE = "GNNBENCH_OVERLAYS"
"""Environment variable: the size of all overlays, at most."""
_SIZE = "20 GiB"
_PACKAGES = "packages"
"""The folder in which pip installs."""


@contextmanager
def overlay(
    requirements: Sequence[str], root: Path, listener: Listener, cache: Path, *, dependencies: bool
) -> Iterator[Path]:
    """Return a folder with the installed requirements; install them if needed.

    `requirements`: requirements, archives and folders; torch stands alone, and gets what it needs.
    """
    torch = next(filter(torch_release.is_torch, requirements), None)
    dependencies = dependencies and torch is None
    if torch and not (is_local(torch) or is_pinned(torch)):  # each day's answer may be a release that is here
        requirements = torch_release.needed(torch, None, root)[:1]
        listener.say(f"{one_line(torch)} resolved to {requirements[0]}")
    paths = {text: local_path(text, root) for text in requirements if is_local(text)}
    for text, path in paths.items():
        if not path.exists():
            raise UsageError(
                f"{one_line('pip:' + text)} does not exist (from {root}): build it, or give pip:NAME==VERSION"
            )
    today = _today()
    lasting = not dependencies and all(text in paths or is_pinned(text) for text in requirements)
    folder = cache / FOLDER / _key(requirements, paths, dependencies, None if lasting else today)
    packages, asked = folder / _PACKAGES, one_line(" ".join(requirements))

    def fill() -> None:
        further: Sequence[str] = ()
        if torch:
            listener.step(f"asking pip what {asked} needs")
            _, *further = torch_release.needed(requirements[0], paths.get(requirements[0]), root)
        listener.step(f"installing {asked}")
        options = [f"--target={packages}", *(() if dependencies else ("--no-deps",))]
        named = one_line(" ".join(f"pip:{text}" for text in requirements))
        with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as copies:
            sources = [
                str(_source(paths[text], Path(copies, str(number)))) if text in paths else text
                for number, text in enumerate(requirements)
            ]
            pip_install(options, [*further, *sources], root, named)
        if not versions(packages):
            raise UsageError(f"{named} installs nothing in this environment: check its environment markers")

    with stored(folder, _most_bytes(), fill, listener, f"installed {asked}"):
        if not lasting:
            releases = ", ".join(f"{name} {version}" for name, version in versions(packages).items())
            listener.say(f"{asked} resolved to {releases} (until the end of {today} UTC)")
        yield packages


def versions(folder: Path) -> dict[str, str]:
    """Return the names and versions of the packages in an overlay."""
    installed = importlib.metadata.distributions(path=[str(folder)])
    return dict(sorted((package.metadata["Name"], package.version) for package in installed))


def _key(requirements: Iterable[str], paths: Mapping[str, Path], dependencies: bool, day: date | None) -> str:
    """Return a hash of all that decides what pip installs; in place of what the index has stands the day."""
    what = [(text, _stamp(paths[text]) if text in paths else "") for text in sorted(requirements)]
    # They may choose another index, or allow pre-releases.
    settings = sorted(item for item in os.environ.items() if item[0].startswith("PIP_"))
    python = (sys.version, sysconfig.get_platform(), sys.prefix)
    return hashlib.sha256(repr((what, dependencies, day, settings, python)).encode()).hexdigest()[:24]


def _stamp(path: Path) -> str:
    """Return a text that changes when the file, or any file in the folder, changes."""
    files = [] if path.is_dir() else [path]
    for parent, folders, names in os.walk(path):
        left_out = {*_left_out(parent, folders), ".git"}
        folders[:] = [name for name in folders if name not in left_out]
        files.extend(Path(parent, name) for name in names)
    states = [(file, file.lstat()) for file in sorted(files)]
    return repr([(str(file), state.st_size, state.st_mtime_ns) for file, state in states])


def _left_out(parent: str, names: Iterable[str]) -> set[str]:
    """Return the folders that are not part of a package's source."""
    made = {"__pycache__", ".tox", ".nox", ".hypothesis", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
    return {name for name in names if name in made or Path(parent, name, "pyvenv.cfg").exists()}


def _source(path: Path, folder: Path) -> Path:
    """Return what pip installs: an archive, or a copy of a folder, as a build writes into the source tree."""
    if not path.is_dir():
        return path
    return shutil.copytree(path, folder / path.name, symlinks=True, ignore=_left_out)


def _most_bytes() -> int:
    text = os.environ.get(SIZE_VARIABLE, _SIZE)
    if (most_bytes := units.read_size(text)) is None:
        raise UsageError(f"{SIZE_VARIABLE}={text!r} must be a size with its unit, as in '{_SIZE}'")
    return most_bytes


def _today() -> date:
    return datetime.now(tz=UTC).date()
