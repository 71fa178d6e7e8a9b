"""Makes the line between two ends as the user types them."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from ...ground.errors import UsageError
from ...process.variants import variant
from ...process.variants.overlay import local_path
from . import commits, releases
from .line import Line

FORM = "give git:REF, git:DIR@REF, or pip:NAME==VERSION"
_KINDS = ("git", "pip")


def line(good: str, bad: str, root: Path, *, skip: Sequence[str] = ()) -> Line:
    """Return the line of candidates between two ends.

    The ends are variants that differ in one part; other parts, such as `env:NAME=VALUE`, are those of all
    candidates.
    """
    old, new, common = _ends(good, bad)
    if old.startswith("git:"):
        found = _commits(old, new, common, root, skip)
        goes_back = all(one.undone for one in found.causes(0, found.last))
    else:
        (name, first), (other, last) = (releases.pinned(text.partition(":")[2]) for text in (old, new))
        if canonicalize_name(name) != canonicalize_name(other):
            raise UsageError(f"{old!r} and {new!r} are two packages: give two releases of one")
        found = releases.line(name, first, last, root, common=common, skip=skip)
        goes_back = Version(first) > Version(last)
    if not goes_back:
        return found
    # Usually the ends were confused.
    note = f"{old} (GOOD) is newer than {new} (BAD): swap them to search for what came after the older one"
    return replace(found, notes=(note, *found.notes))


def _ends(good: str, bad: str) -> tuple[str, str, list[str]]:
    """Return the part of each end that the other lacks, and those that both have."""
    parts = [variant.words(text) for text in (good, bad)]
    if not all(parts):
        raise UsageError(f"an end is empty: {FORM}")
    common = [part for part in parts[0] if part in parts[1]]
    own = [[part for part in each if part not in common] for each in parts]
    if not any(own):
        raise UsageError(f"both ends are {good!r}: give two that differ")
    for text, only in zip((good, bad), own, strict=True):
        if len(only) != 1:
            differ = " and ".join(map(repr, only)) or "nothing"
            raise UsageError(f"{text!r}: the ends must differ in one part, and {differ} is only here; {FORM}")
    (old,), (new,) = own
    kinds = [text.partition(":")[0] for text in (old, new)]
    for text, kind in zip((old, new), kinds, strict=True):
        if kind not in _KINDS:
            variant.parse(shlex.join([text]))  # its error may be more helpful
            raise UsageError(f"{text!r} cannot be an end: {FORM}")
    if kinds[0] != kinds[1]:
        raise UsageError(f"{old!r} and {new!r} are of two kinds: give two commits or two releases")
    variant.parse(shlex.join(common or ["."]))
    return old, new, common


def _commits(old: str, new: str, common: Sequence[str], root: Path, skip: Sequence[str]) -> Line:
    parsed = [variant.parse(shlex.join([text])) for text in (old, new)]
    ends = [(None, one.git) if one.git is not None else one.checkouts[0] for one in parsed]
    (typed, good), (other, bad) = ends
    if typed != other:
        raise UsageError(f"{old!r} and {new!r} are of two repositories: give two commits of one")
    folder = root if typed is None else local_path(typed, root)
    if not folder.is_dir():
        raise UsageError(
            f"the folder of {old!r} does not exist (from {root}): give a folder of the repository"
        )
    return commits.line(folder, typed, good, bad, common=common, skip=skip)
