"""The packages that differ between two lock files, in the order in which they can be exchanged."""

import importlib.metadata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from ... import units
from ...errors import UsageError, one_line
from ...files import read_whole
from ...variants.overlay import local_path
from . import releases
from .line import Candidate, Cause, Line, Move, skipped

_MAX_BYTES = 2**22
_MOST_NAMED = 4
"""Packages that a note names."""

Installed = Callable[[Sequence[str]], Path]
"""Installs requirements, and returns the folder."""


@dataclass(frozen=True)
class Lock:
    """The content of a lock file."""

    releases: Mapping[str, str]
    """Version by canonical name."""
    others: frozenset[str]
    """Lines that pin no release, such as editable installations."""


def line(
    good: str,
    bad: str,
    root: Path,
    install: Installed,
    *,
    common: Sequence[str] = (),
    skip: Sequence[str] = (),
) -> Line:
    """Return the line that exchanges the packages that differ, one after the other.

    Packages that require each other's new release move together, and a package moves after those that its new
    release requires. The metadata of both releases tell.

    Args:
        good: the lock file of the good end, an output of pip freeze, as the user typed it.
        bad: that of the bad end.
        root: paths are relative to it.
        install: installs a release.
        common: parts that the variants of all candidates have.
        skip: packages after whose exchange nothing is to be measured.

    Raises:
        UsageError: a file cannot be read, nothing differs, or a release cannot be installed.
    """
    old, new = (read(local_path(text, root), text) for text in (good, bad))
    names = [
        name for name in new.releases if old.releases.get(name, new.releases[name]) != new.releases[name]
    ]
    if not names:
        raise UsageError(f"lock:{good} and lock:{bad} have no package with two releases: nothing to exchange")
    moves = {name: Move(name, old.releases[name], new.releases[name]) for name in names}
    steps = _ordered(moves, install)
    pins = {name: old.releases[name] for name in names}
    candidates = [Candidate(f"the packages of {good}", releases.variant(pins, common))]
    for step in steps:
        pins.update({one.name: one.new for one in step})
        text = " and ".join(f"{one.name} {one.old} → {one.new}" for one in step)
        cause = Cause("package", text, moves=tuple(step))
        candidates.append(Candidate(f"with {text}", releases.variant(pins, common), cause))
    places = {move.name: position for position, step in enumerate(steps, 1) for move in step}
    left_out = skipped([canonicalize_name(one) for one in skip], places)
    return Line("package", tuple(candidates), left_out, tuple(_notes(old, new, good, bad)))


def read(path: Path, typed: str) -> Lock:
    """Read an output of pip freeze.

    Raises:
        UsageError: the file cannot be read, or pins nothing.
    """
    try:
        text = read_whole(path, _MAX_BYTES).decode()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"lock:{typed} cannot be read ({reason}): give an output of pip freeze") from None
    found: dict[str, str] = {}
    others = set()
    for row in text.splitlines():
        words = row.removesuffix("\\").strip()
        if not words or words.startswith(("#", "--")):
            continue
        try:
            name, version = releases.pinned(words.partition(";")[0].strip())
        except UsageError:
            others.add(one_line(words))
            continue
        found[canonicalize_name(name)] = version
    if not found:
        raise UsageError(f"lock:{typed} pins no release, as in torch==2.4.0: give an output of pip freeze")
    return Lock(found, frozenset(others))


def _notes(old: Lock, new: Lock, good: str, bad: str) -> Iterator[str]:
    for here, there, text in ((old, new, good), (new, old, bad)):
        alone = sorted({*(here.releases.keys() - there.releases.keys()), *(here.others - there.others)})
        if alone:
            yield f"not exchanged, because only {text} has it: {units.listed(alone, _MOST_NAMED)}"


def _ordered(moves: Mapping[str, Move], install: Installed) -> list[list[Move]]:
    """Return the steps: packages that move together, each after what it needs."""
    before = {name: {name} for name in moves}
    for name, first in _needs(moves, install):
        before[name].add(first)
    for middle in moves:  # Warshall's algorithm: all that must have moved by then
        for name in moves:
            if middle in before[name]:
                before[name] |= before[middle]
    together = {name: [one for one in moves if one in before[name] and name in before[one]] for name in moves}
    ordered = sorted(moves, key=lambda name: len(before[name]))
    return [[moves[one] for one in together[name]] for name in ordered if together[name][0] == name]


def _needs(moves: Mapping[str, Move], install: Installed) -> Iterator[tuple[str, str]]:
    """Yield a package and one that must move before it or with it."""
    for move in moves.values():
        for version, is_new in ((move.new, True), (move.old, False)):
            for required in _requirements(move.name, version, install):
                other = moves.get(canonicalize_name(required.name))
                if other is None or other is move:
                    continue
                # The new release needs the other's new one; or the old release does not go with it.
                unfit = other.old if is_new else other.new
                if not required.specifier.contains(unfit, prereleases=True):
                    yield (move.name, other.name) if is_new else (other.name, move.name)


def _requirements(name: str, version: str, install: Installed) -> Iterator[Requirement]:
    if releases.is_here(name, version):
        found = [importlib.metadata.distribution(name)]
    else:
        folder = str(install([f"{name}=={version}"]))
        found = list(importlib.metadata.distributions(name=name, path=[folder]))
    for text in (one for each in found for one in each.requires or ()):
        try:
            required = Requirement(text)
        except InvalidRequirement:
            continue
        if required.marker is None or required.marker.evaluate({"extra": ""}):
            yield required
