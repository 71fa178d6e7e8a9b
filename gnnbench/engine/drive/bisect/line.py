"""A line of candidates: versions of the code in order, from the good end to the bad one."""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

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

FORM = "give git:REF, git:DIR@REF, or pip:NAME==VERSION"
SHORT = 10
"""Characters of a commit's hash in names."""
_PIP = (sys.executable, "-P", "-m", "pip")
_QUIET = ("--no-input", "--disable-pip-version-check")


@dataclass(frozen=True)
class Cause:
    """What one step of a line changes."""

    kind: Literal["commit", "release"]
    name: str
    """A commit's full hash; a release, `thing 1.2`."""
    title: str = ""
    """A commit's subject line."""
    day: str = ""
    """A commit's day, `2026-01-31`; empty: unknown."""
    undone: bool = False
    """Whether the step goes back: it takes a commit of the good end's back, or is to an older release."""
    parents: int = 1

    @property
    def short(self) -> str:
        """The name, of a commit shortened."""
        return self.name[:SHORT] if self.kind == "commit" else self.name


@dataclass(frozen=True)
class Candidate:
    """A version of the code."""

    name: str
    """As messages call it."""
    variant: str
    """The variant that builds it, as text for `variant.parse`."""
    cause: Cause | None = None
    """What differs from the candidate before it; None: it is the good end."""


@dataclass(frozen=True)
class Place:
    """A place in a line where something changed."""

    before: Candidate
    """The last candidate without the change."""
    after: Candidate
    """The first one that is known to have it."""
    causes: tuple[Cause, ...]
    """What may be the cause; one, if it is known."""


@dataclass(frozen=True)
class Line:
    """The candidates from the good end, the first, to the bad end, the last; at least two."""

    candidates: tuple[Candidate, ...]
    notes: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        """Position of the bad end."""
        return len(self.candidates) - 1

    def place(self, low: int, high: int) -> Place:
        """Return the place between two candidates."""
        before, *rest = self.candidates[low : high + 1]
        return Place(before, rest[-1], tuple(candidate.cause for candidate in rest if candidate.cause))


def line(good: str, bad: str, root: Path) -> Line:
    """Return the line of candidates between two ends.

    The ends are variants that differ in one part; other parts, such as `env:NAME=VALUE`, are those of all
    candidates.
    """
    parts = [variant.words(text) for text in (good, bad)]
    common = [part for part in parts[0] if part in parts[1]]
    differing = [[part for part in each if part not in common] for each in parts]
    if [len(each) for each in differing] != [1, 1]:
        raise UsageError(f"the ends must differ in one part, unlike {good!r} and {bad!r}: {FORM}")
    (old,), (new,) = differing
    for text in (good, bad):
        variant.parse(text).check(root)
    kinds = {text.partition(":")[0] for text in (old, new)}
    if kinds not in ({"git"}, {"pip"}):
        raise UsageError(f"{old!r} and {new!r} are not two commits or two releases: {FORM}")
    candidates = tuple((_commits if kinds == {"git"} else _releases)(old, new, common, root))
    undone = sum(candidate.cause is not None and candidate.cause.undone for candidate in candidates)
    count, notes = len(candidates) - 1, list[str]()
    if undone == count:  # usually the ends were confused
        notes = [f"{old} (GOOD) is newer than {new} (BAD): swap them to search for what came after the older"]
    elif undone:
        notes = [f"the ends are on two branches: {undone} of the {count} steps take back commits of GOOD's"]
    return Line(candidates, tuple(notes))


def _commits(old: str, new: str, common: Sequence[str], root: Path) -> list[Candidate]:
    """Return the commits between two ends.

    From the good end it goes back to the newest commit that both ends have in their histories, usually the
    good end itself, and from there to the bad end. Of a merge, it follows the first parent.
    """
    parsed = [variant.parse(shlex.join([text])) for text in (old, new)]
    (typed, good), (other, bad) = ((part.folder, part.ref) for end in parsed for part in end.of(Commit))
    if typed != other:
        raise UsageError(f"{old!r} and {new!r} are of two repositories: give two commits of one")
    folder = root if typed is None else local_path(typed, root)
    repository = Repository.at(folder, old)
    first, last = repository.commit(good), repository.commit(bad)
    base = git.merge_base(folder, first, last)
    if first == last or base is None:
        why = "have no common history" if base is None else "are the same commit: give two"
        raise UsageError(f"{old} and {new} {why}")
    undone = git.first_parents(folder, base, first)[::-1]
    done = git.first_parents(folder, base, last)
    # Going back, a candidate is what is left when the commits above it are undone.
    hashes = [first, *(commit.hash for commit in undone[1:]), *([base] if undone else [])]
    hashes += [commit.hash for commit in done]
    causes = [
        Cause("commit", commit.hash, one_line(commit.title), commit.day, taken_back, commit.parents)
        for commits, taken_back in ((undone, True), (done, False))
        for commit in commits
    ]
    return [
        Candidate(hash_[:SHORT], shlex.join([part(typed, hash_), *common]), cause)
        for hash_, cause in zip(hashes, [None, *causes], strict=True)
    ]


def part(typed: str | None, ref: str) -> str:
    """Return the part of a variant that is a commit, of a repository in a folder that the user typed."""
    if typed is None:
        return f"git:{ref}"
    # A variant's folder begins with `.`, `/` or `~`.
    folder = typed if typed.startswith((".", "/", "~")) else f"./{typed}"
    return f"git:{folder}@{ref}"


def _releases(old: str, new: str, common: Sequence[str], root: Path) -> list[Candidate]:
    """Return the releases between two ends, without pre-releases and yanked releases.

    Where neither end names a build, as `2.13.0+cpu` does, releases that exist without one are taken so: pip
    alone would prefer builds that only some releases have.
    """
    (name, good), (other, bad) = (pinned(text.partition(":")[2]) for text in (old, new))
    if canonicalize_name(name) != canonicalize_name(other):
        raise UsageError(f"{old!r} and {new!r} are two packages: give two releases of one")
    first, last = Version(good), Version(bad)
    known = available(name, root)
    between = {Version(each.public) for each in known if min(first, last) < each < max(first, last)}
    between -= {Version(end.public) for end in (first, last)}
    builds = {each.public for each in known if each.local and not (first.local or last.local)}
    several = builds & {str(each) for each in known}
    here = installed(canonicalize_name(name).replace("-", "_"))
    candidates: list[Candidate] = []
    for text in [good, *map(str, sorted(between, reverse=first > last)), bad]:
        pin = f"pip:{name}{'===' if text in several else '=='}{text}"
        parts = [] if here and here.version == text else [pin]  # what is installed here need not be again
        cause = Cause("release", f"{name} {text}", undone=first > last) if candidates else None
        candidates.append(Candidate(f"{name} {text}", shlex.join([*parts, *common]) or ".", cause))
    return candidates


def pinned(text: str) -> tuple[str, str]:
    """Read `NAME==VERSION`."""
    try:
        requirement = Requirement(text)
        (pin,) = requirement.specifier
        Version(pin.version)
        is_plain = not (requirement.url or requirement.extras or requirement.marker)
    except (ValueError, RecursionError):
        is_plain = False
    if not is_plain or pin.operator not in {"==", "==="}:
        raise UsageError(f"{'pip:' + text!r} is not one release: give pip:NAME==VERSION")
    return requirement.name, pin.version


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
    versions = []
    for text in listed[1].split(","):
        try:
            versions.append(Version(text.strip()))
        except InvalidVersion:
            continue
    return [version for version in versions if early or not version.is_prerelease]
