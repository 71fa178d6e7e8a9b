"""Overlays: folders of what pip installs for a variant, beside the environment and kept in the cache."""

import hashlib
import importlib.metadata
import os
import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from ..errors import UsageError, one_line
from ..files import hold
from .command import call, last_line
from .variant import is_local, is_pinned

_UNFINISHED = ".unfinished-"
_KEPT_DAYS = 2
"""A run that began yesterday may still use yesterday's overlay."""


def overlay(
    requirements: Sequence[str],
    root: Path,
    cache: Path,
    *,
    dependencies: bool,
    say: Callable[[str], None],
    step: Callable[[str], None],
) -> Path:
    """Return a folder with what pip installs for the requirements, made where there is none yet.

    Args:
        requirements: requirements, archives and folders.
        root: the folder that paths are relative to, and that pip runs in.
        cache: folder whose `overlays` it lies in; those of days gone by are removed.
        dependencies: install what they require as well.
        say: is told which versions were found, where that may change.
        step: is told before pip starts.

    Raises:
        UsageError: pip cannot install it, or the cache cannot be written.
    """
    paths = {text: local_path(text, root) for text in requirements if is_local(text)}
    for text, path in paths.items():
        if not path.exists():
            raise UsageError(
                f"{one_line('pip:' + text)} is not there (from {root}): build it, or give pip:NAME==VERSION"
            )
    overlays = cache / "overlays"
    today = _today()
    lasting = not dependencies and all(text in paths or is_pinned(text) for text in requirements)
    key = _key(requirements, paths, dependencies)
    folder = overlays / (key if lasting else f"{today}-{key}")
    asked = one_line(" ".join(requirements))
    if not folder.is_dir():
        with hold(overlays / ".lock", cache):
            _clear(overlays, today)
            if not folder.is_dir():
                step(f"installing {asked}")
                with tempfile.TemporaryDirectory(
                    dir=overlays, prefix=_UNFINISHED, ignore_cleanup_errors=True
                ) as temporary:
                    made = Path(temporary, "overlay")
                    _install(requirements, paths, made, dependencies, root)
                    made.rename(folder)
    if not lasting:
        found = ", ".join(f"{name} {version}" for name, version in versions(folder).items())
        say(f"{asked} is, until the end of {today} UTC: {found}")
    return folder


def versions(folder: Path) -> dict[str, str]:
    """Return the versions of what is installed in an overlay, by name."""
    found = importlib.metadata.distributions(path=[str(folder)])
    return dict(sorted((one.metadata["Name"], one.version) for one in found))


def local_path(text: str, root: Path) -> Path:
    """Return the path that a user means who types it in a folder."""
    with suppress(RuntimeError):  # ~NAME of nobody stays as it is
        return (root / Path(text).expanduser()).resolve()
    return root / text


def _key(requirements: Iterable[str], paths: Mapping[str, Path], dependencies: bool) -> str:
    """Return a name for what pip would install: of all that decides it, other than the index and the day."""
    what = [(text, _stamp(paths[text]) if text in paths else "") for text in sorted(requirements)]
    # Such as another index, or --pre.
    settings = sorted(item for item in os.environ.items() if item[0].startswith("PIP_"))
    python = (sys.version, sysconfig.get_platform(), sys.prefix)
    return hashlib.sha256(repr((what, dependencies, settings, python)).encode()).hexdigest()[:24]


def _stamp(path: Path) -> str:
    """Return what changes when a file does, or any file in a folder."""
    files = [] if path.is_dir() else [path]
    for parent, folders, names in os.walk(path):
        left_out = {*_left_out(parent, folders), ".git"}
        folders[:] = [name for name in folders if name not in left_out]
        files.extend(Path(parent, name) for name in names)
    states = [(file, file.lstat()) for file in sorted(files)]
    return repr([(str(file), state.st_size, state.st_mtime_ns) for file, state in states])


def _left_out(parent: str, names: Iterable[str]) -> set[str]:
    """Return which folders of a source tree are no source of a package."""
    made = {"__pycache__", ".tox", ".nox", ".hypothesis", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
    return {name for name in names if name in made or Path(parent, name, "pyvenv.cfg").exists()}


def _install(
    requirements: Iterable[str], paths: Mapping[str, Path], target: Path, dependencies: bool, root: Path
) -> None:
    target.mkdir()
    asked = []
    for number, text in enumerate(requirements):
        path = paths.get(text)
        if path and path.is_dir():
            # Building leaves files in the source tree.
            copy = target.parent / f"source-{number}" / path.name
            shutil.copytree(path, copy, symlinks=True, ignore=_left_out)
            path = copy
        asked.append(str(path or text))
    options = ["--no-input", "--disable-pip-version-check", "--no-user", "--quiet", f"--target={target}"]
    if not dependencies:
        options.append("--no-deps")
    # -P: what lies in the caller's folder is no part of pip.
    answer = call([sys.executable, "-P", "-m", "pip", "install", *options, "--", *asked], root, os.environ)
    named = one_line(" ".join(f"pip:{text}" for text in requirements))
    if answer.returncode:
        if "No module named pip" in answer.stderr:
            raise UsageError(
                f"{named} needs pip, which {sys.executable} lacks: {sys.executable} -m ensurepip"
            )
        # Of a conflict, the line before the address of pip's manual says what it is.
        errors = re.findall(r"^ERROR: (?!ResolutionImpossible)(.+)", answer.stderr, re.MULTILINE)
        reason = last_line("\n".join(errors) or answer.stderr) or f"it ended with {answer.returncode}"
        raise UsageError(f"{named} cannot be installed, says pip: {reason}")
    if not versions(target):
        raise UsageError(f"{named} installs nothing in this environment: look at its markers")


def _clear(overlays: Path, today: date) -> None:
    """Remove what killed runs left unfinished, and overlays of days gone by; its lock is held."""
    oldest = (today - timedelta(days=_KEPT_DAYS)).isoformat()
    for folder in overlays.iterdir():
        dated = re.match(r"\d{4}-\d\d-\d\d(?=-)", folder.name)
        if folder.name.startswith(_UNFINISHED) or (dated and dated[0] < oldest):
            shutil.rmtree(folder, ignore_errors=True)


def _today() -> date:
    return datetime.now(tz=UTC).date()
