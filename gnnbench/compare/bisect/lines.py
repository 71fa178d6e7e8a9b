"""Reads the two ends as the user types them, and makes the line between them."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from ...errors import UsageError
from ...variants import variant
from ...variants.overlay import local_path
from . import commits, packages, releases
from .line import Line

FORM = "give git:REF, git:DIR@REF, pip:NAME==VERSION or lock:FILE"
_KINDS = ("git", "pip", "lock")


def line(
    good: str,
    bad: str,
    root: Path,
    install: packages.Installed,
    *,
    skip: Sequence[str] = (),
) -> Line:
    """Return the line of candidates between two ends.

    The ends are variants that differ in one part; other parts, such as `env:NAME=VALUE`, are those of all
    candidates.

    Args:
        good: the good end.
        bad: the bad end.
        root: the caller's folder.
        install: installs a release, for lock files.
        skip: candidates that are not to be measured.

    Raises:
        UsageError: an end cannot be used, they are not of one kind, or there is nothing between them.
    """
    parts = [_parts(text) for text in (good, bad)]
    common = [part for part in parts[0] if part in parts[1]]
    own = [[part for part in found if part not in common] for found in parts]
    if not any(own):
        raise UsageError(f"both ends are {good!r}: give two that differ")
    for text, found in zip((good, bad), own, strict=True):
        if len(found) != 1:
            differ = " and ".join(map(repr, found)) or "nothing"
            raise UsageError(f"{text!r}: the ends must differ in one part, and {differ} is only here; {FORM}")
    (old,), (new,) = own
    kinds = [text.partition(":")[0] for text in (old, new)]
    for text, kind in zip((old, new), kinds, strict=True):
        if kind not in _KINDS:
            variant.parse(shlex.join([text]))  # its error may be more helpful
            raise UsageError(f"{text!r} cannot be an end: {FORM}")
    if kinds[0] != kinds[1]:
        raise UsageError(
            f"{old!r} and {new!r} are of two kinds: give two commits, two releases or two lock files"
        )
    variant.parse(shlex.join(common or ["."]))
    if kinds[0] == "git":
        between = _commits(old, new, common, root, skip)
        return _noted(between, old, new) if between.goes_back else between
    if kinds[0] == "lock":
        files = [text.partition(":")[2] for text in (old, new)]
        return packages.line(files[0], files[1], root, install, common=common, skip=skip)
    (name, good), (other, bad) = (releases.pinned(text.partition(":")[2]) for text in (old, new))
    if canonicalize_name(name) != canonicalize_name(other):
        raise UsageError(f"{old!r} and {new!r} are two packages: give two releases of one, or lock:FILE")
    between = releases.line(name, good, bad, root, common=common, skip=skip)
    return _noted(between, old, new) if Version(good) > Version(bad) else between


def _noted(line: Line, good: str, bad: str) -> Line:
    """Note that the good end is the newer one: usually the ends were confused."""
    note = f"{good} (GOOD) is newer than {bad} (BAD): swap them to search for what came after the older one"
    return replace(line, notes=(note, *line.notes))


def _parts(text: str) -> list[str]:
    if "\0" in text:
        raise UsageError(f"{text!r} contains a null character: remove it")
    try:
        parts = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is incomplete: {str(error).lower()}") from None
    if not parts:
        raise UsageError(f"an end is empty: {FORM}")
    return parts


def _commits(old: str, new: str, common: Sequence[str], root: Path, skip: Sequence[str]) -> Line:
    found = [variant.parse(shlex.join([text])) for text in (old, new)]
    if all(one.git is not None for one in found):
        good, bad = (str(one.git) for one in found)
        return commits.line(root, None, good, bad, common=common, skip=skip)
    folders = {folder for one in found for folder, _ in one.checkouts}
    if len(folders) != 1 or any(one.git is not None for one in found):
        raise UsageError(f"{old!r} and {new!r} are of two repositories: give two commits of one")
    (typed,) = folders
    folder = local_path(typed, root)
    if not folder.is_dir():
        raise UsageError(
            f"the folder of {old!r} does not exist (from {root}): give a folder of the repository"
        )
    good, bad = (one.checkouts[0][1] for one in found)
    return commits.line(folder, typed, good, bad, common=common, skip=skip)
