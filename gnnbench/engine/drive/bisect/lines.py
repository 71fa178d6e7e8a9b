"""Makes the line between two ends as the user types them."""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from ...ground import git
from ...ground.errors import UsageError, one_line
from ...measure.sources import installed
from ...process.variants import variant
from ...process.variants.command import call, last_line
from ...process.variants.commit import Commit
from ...process.variants.overlay import local_path
from ...process.variants.worktree import Repository
from .line import SHORT, Candidate, Cause, Line, skipped

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
        (name, first), (other, last) = (pinned(text.partition(":")[2]) for text in (old, new))
        if canonicalize_name(name) != canonicalize_name(other):
            raise UsageError(f"{old!r} and {new!r} are two packages: give two releases of one")
        found = of_releases(name, first, last, root, common=common, skip=skip)
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
    ends = [(part.folder, part.ref) for side in parsed for part in side.of(Commit)]
    (typed, good), (other, bad) = ends
    if typed != other:
        raise UsageError(f"{old!r} and {new!r} are of two repositories: give two commits of one")
    folder = root if typed is None else local_path(typed, root)
    if not folder.is_dir():
        raise UsageError(
            f"the folder of {old!r} does not exist (from {root}): give a folder of the repository"
        )
    return of_commits(folder, typed, good, bad, common=common, skip=skip)


_TAGS = ("v{}", "{}", "{name}-{}", "{name}-v{}", "release-{}")
"""How repositories call the tag of a release."""


def of_commits(
    folder: Path,
    typed: str | None,
    good: str,
    bad: str,
    *,
    common: Sequence[str] = (),
    skip: Sequence[str] = (),
) -> Line:
    """Return the line of commits between two ends.

    From the good end it goes back to the newest commit that both ends have in their histories, usually the
    good end itself, and from there to the bad end. Of a merge, it follows the first parent.

    Args:
        typed: the folder as the user typed it, in `git:DIR@REF`; None: it is the caller's repository.
        skip: commits, or ranges A..B, that are not to be measured.
    """
    repository = Repository.at(folder, part(typed, good))
    ends = repository.commit(good), Repository.at(folder, part(typed, bad)).commit(bad)
    if ends[0] == ends[1]:
        raise UsageError(f"{part(typed, good)} and {part(typed, bad)} are the same commit: give two")
    base = git.merge_base(folder, *ends)
    if base is None:
        raise UsageError(f"{part(typed, good)} and {part(typed, bad)} have no common history")
    undone = git.first_parents(folder, base, ends[0])[::-1]
    done = git.first_parents(folder, base, ends[1])
    causes = [
        Cause("commit", one.hash, one_line(one.title), one.day, taken_back, one.parents)
        for commits, taken_back in ((undone, True), (done, False))
        for one in commits
    ]
    # Going back, a candidate is what is left when the commits above it are undone.
    hashes = [ends[0], *(one.hash for one in undone[1:]), *([base] if undone else [])]
    hashes += [one.hash for one in done]
    candidates = [
        Candidate(hash_[:SHORT], shlex.join([part(typed, hash_), *common]), cause)
        for hash_, cause in zip(hashes, [None, *causes], strict=True)
    ]
    notes = []
    if undone and done:
        notes.append(
            f"the ends are on two branches: {len(undone)} of the {len(causes)} steps take back commits of "
            "the good end's"
        )
    return Line("commit", tuple(candidates), _skipped(folder, hashes, skip), tuple(notes))


def part(typed: str | None, ref: str) -> str:
    """Return the part of a variant that is a commit, of a repository in a folder that the user typed."""
    if typed is None:
        return f"git:{ref}"
    # A variant's folder begins with `.`, `/` or `~`.
    folder = typed if typed.startswith((".", "/", "~")) else f"./{typed}"
    return f"git:{folder}@{ref}"


def _skipped(folder: Path, hashes: Sequence[str], skip: Sequence[str]) -> frozenset[int]:
    """Return the positions of the commits to skip."""
    found: set[int] = set()
    for text in skip:
        old, dots, new = text.partition("..")
        repository = Repository.at(folder, f"--skip {text}")
        if dots:
            named = set(git.within(folder, repository.commit(old), repository.commit(new)))
        else:
            named = {repository.commit(text)}
        there = {position for position, hash_ in enumerate(hashes) if hash_ in named}
        if not there:
            raise UsageError(f"--skip {text} is not between the ends: leave it out")
        found |= there
    return frozenset(found)


def tag(name: str, version: str, typed: str, folder: Path) -> str:
    """Return the tag of a release in a repository, in a folder that the user typed."""
    names = git.tags(folder)
    wanted = [form.format(version, name=name) for form in _TAGS]
    found = [one for one in wanted if one in names]
    if not found:
        raise UsageError(f"the repository {typed} has no tag of {name} {version}, such as {wanted[0]}")
    return found[0]


_PIP = (sys.executable, "-P", "-m", "pip")
_QUIET = ("--no-input", "--disable-pip-version-check")


def of_releases(
    name: str, good: str, bad: str, root: Path, *, common: Sequence[str] = (), skip: Sequence[str] = ()
) -> Line:
    """Return the line of releases between two ends, without pre-releases and yanked releases.

    Where neither end names a build, as `2.13.0+cpu` does, releases that exist without one are taken so: pip
    alone would prefer builds that only some releases have.

    Args:
        good: the version of the good end, which may be newer than that of the bad one.
    """
    ends = Version(good), Version(bad)
    found = available(name, root)
    between = sorted(
        {Version(one.public) for one in found if min(ends) < one < max(ends)}
        - {Version(one.public) for one in ends}
    )
    plain = {str(one) for one in found if not (one.local or ends[0].local or ends[1].local)}
    several = plain & {one.public for one in found if one.local}
    if ends[0] > ends[1]:
        between.reverse()
    texts = [good, *map(str, between), bad]
    here = installed(canonicalize_name(name).replace("-", "_"))
    candidates = []
    for number, text in enumerate(texts):
        pin = f"pip:{name}{'===' if text in several else '=='}{text}"
        parts = [] if here and here.version == text else [pin]  # what is installed here need not be again
        cause = Cause("release", f"{name} {text}") if number else None
        candidates.append(Candidate(f"{name} {text}", shlex.join([*parts, *common]) or ".", cause))
    places = {text: position for position, text in enumerate(texts)}
    return Line("release", tuple(candidates), skipped(skip, places))


def pinned(text: str) -> tuple[str, str]:
    """Read `NAME==VERSION`."""
    try:
        found = Requirement(text)
        (pin,) = found.specifier
        Version(pin.version)
    except (ValueError, RecursionError):
        found = None
    if not found or found.url or found.extras or found.marker or pin.operator not in {"==", "==="}:
        raise UsageError(f"{'pip:' + text!r} is not one release: give pip:NAME==VERSION")
    return found.name, pin.version


def available(name: str, root: Path, *, early: bool = False) -> list[Version]:
    """Return the final releases, and their builds, that pip finds for this environment; none is yanked.

    `early`: also what comes before a release, such as nightly builds.
    """
    options = (*_QUIET, "--pre") if early else _QUIET
    answer = call([*_PIP, "index", "versions", *options, "--", name], root, os.environ)
    listed = re.search(r"^Available versions: (.+)$", answer.stdout, re.MULTILINE)
    if answer.returncode or not listed:
        reason = last_line(answer.stderr) or "it lists none"
        raise UsageError(f"pip finds no releases of {name}: {reason}; check the name and the index")
    found = []
    for text in listed[1].split(","):
        try:
            found.append(Version(text.strip()))
        except InvalidVersion:
            continue
    return [one for one in found if early or not one.is_prerelease]
