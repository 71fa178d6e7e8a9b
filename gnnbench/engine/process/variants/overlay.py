"""Overlays: folders in the cache into which pip installs a variant's packages."""

import fcntl
import hashlib
import importlib.metadata
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from pathlib import Path

from ...ground import units
from ...ground.cpu import RealTime
from ...ground.errors import UsageError, one_line
from ...ground.files import UNFINISHED, hold, locked
from ...interfaces import Listener
from . import torch_release
from .command import UnbuildableError, is_local, is_pinned, pip_install

FOLDER = "overlays"
SIZE_VARIABLE = "GNNBENCH_OVERLAYS"
"""Environment variable: the size of all overlays, at most."""
_SIZE = "20 GiB"


def overlay(
    requirements: Sequence[str],
    root: Path,
    cache: Path,
    listener: Listener,
    *,
    dependencies: bool,
) -> Path:
    """Return a folder with the installed requirements; install them if needed.

    `requirements`: requirements, archives and folders; torch stands alone, and gets what it needs.
    """
    is_torch = torch_release.is_torch(requirements[0])
    dependencies = bool(dependencies) and not is_torch
    paths = {text: local_path(text, root) for text in requirements if is_local(text)}
    for text, path in paths.items():
        if not path.exists():
            raise UsageError(
                f"{one_line('pip:' + text)} does not exist (from {root}): build it, or give pip:NAME==VERSION"
            )
    overlays = cache / FOLDER
    today = _today()
    is_exact = all(text in paths or is_pinned(text) for text in requirements)
    lasting = is_exact and not dependencies
    if is_torch and not is_exact:  # each day's answer may be a release that is here
        release = torch_release.needed(requirements[0], None, root).torch
        if release != requirements[0]:
            listener.say(f"{one_line(requirements[0])} resolved to {release}")
            return overlay([release], root, cache, listener, dependencies=dependencies)
    folder = overlays / _key(requirements, paths, dependencies, None if lasting else today)
    asked = one_line(" ".join(requirements))
    if not folder.is_dir():
        with hold(overlays / ".lock", cache):
            _clear(overlays)
            if not folder.is_dir():
                more: tuple[str, ...] = ()
                if is_torch:
                    listener.step(f"asking pip what {asked} needs")
                    needed = torch_release.needed(requirements[0], paths.get(requirements[0]), root)
                    needed.check_space(overlays, listener)
                    more = needed.others
                listener.step(f"installing {asked}")
                start = RealTime.seconds()
                with tempfile.TemporaryDirectory(
                    dir=overlays, prefix=UNFINISHED, ignore_cleanup_errors=True
                ) as temporary:
                    made = Path(temporary, "overlay")
                    _install(requirements, more, paths, made, dependencies, root)
                    made.rename(folder)
                took = units.duration(RealTime.seconds() - start)
                listener.say(f"installed {asked} in {took}, which counts towards no budget")
    if not lasting:
        found = ", ".join(f"{name} {version}" for name, version in versions(folder).items())
        listener.say(f"{asked} resolved to {found} (until the end of {today} UTC)")
    return folder


@contextmanager
def used(folder: Path) -> Iterator[None]:
    """Keep an overlay from being removed while the context lasts, and note when that was."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        os.utime(folder)
        yield
    finally:
        os.close(descriptor)


def size_bytes(folder: Path) -> int:
    """Return the size of all files in a folder."""
    return sum(file.lstat().st_size for file in folder.rglob("*"))


def versions(folder: Path) -> dict[str, str]:
    """Return the names and versions of the packages in an overlay."""
    found = importlib.metadata.distributions(path=[str(folder)])
    return dict(sorted((one.metadata["Name"], one.version) for one in found))


def local_path(text: str, root: Path) -> Path:
    """Return the absolute path of what a user typed in folder `root`, with `~` expanded."""
    with suppress(RuntimeError):  # ~NAME without such a user is taken literally
        return (root / Path(text).expanduser()).resolve()
    return root / text


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


def _install(
    requirements: Iterable[str],
    more: Iterable[str],
    paths: Mapping[str, Path],
    target: Path,
    dependencies: bool,
    root: Path,
) -> None:
    target.mkdir()
    asked = [*more]
    for number, text in enumerate(requirements):
        path = paths.get(text)
        if path and path.is_dir():
            # A build writes into the source tree.
            copy = target.parent / f"source-{number}" / path.name
            shutil.copytree(path, copy, symlinks=True, ignore=_left_out)
            path = copy
        asked.append(str(path or text))
    options = [f"--target={target}", *(() if dependencies else ("--no-deps",))]
    named = one_line(" ".join(f"pip:{text}" for text in requirements))
    pip_install(options, asked, root, named)
    if not versions(target):
        raise UnbuildableError(f"{named} installs nothing in this environment: check its environment markers")


def _clear(overlays: Path) -> None:
    """Remove unfinished overlays, and the least recently used beyond the size; the caller holds the lock."""
    for folder in overlays.glob(f"{UNFINISHED}*"):
        shutil.rmtree(folder, ignore_errors=True)
    text = os.environ.get(SIZE_VARIABLE, _SIZE)
    if (most_bytes := units.read_size(text)) is None:
        raise UsageError(f"{SIZE_VARIABLE}={text!r} must be a size with its unit, as in '{_SIZE}'")
    for folder in sorted(overlays.glob("[!.]*/"), key=lambda one: one.stat().st_mtime, reverse=True):
        most_bytes -= size_bytes(folder)
        if most_bytes < 0:
            _remove_unused(folder)


def _remove_unused(folder: Path) -> None:
    """Remove an overlay, unless a run uses it."""
    try:
        with locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
            # If the removal is interrupted, no run takes the rest for an overlay.
            gone = folder.rename(folder.with_name(f"{UNFINISHED}{folder.name}"))
    except OSError:
        return  # it is used, or the file system has no locks
    shutil.rmtree(gone, ignore_errors=True)


def _today() -> date:
    return datetime.now(tz=UTC).date()
