"""The history that a bisection searches: versions of the code, in order from the good end to the bad end."""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from ...ground import git
from ...ground.errors import UsageError, one_line
from ...measure.sources import installed
from ...process.variants import variant
from ...process.variants.command import call, last_line
from ...process.variants.variant import Commit, pinned

_FORM = "give git:REF, git:DIR@REF, or pip:NAME==VERSION"
SHORT = 10
"""Characters of a commit's hash in names."""
_PIP = (sys.executable, "-P", "-m", "pip", "index", "versions", "--no-input", "--disable-pip-version-check")


@dataclass(frozen=True)
class Cause:
    """The commit or release by which a candidate differs from the previous one."""

    kind: Literal["commit", "release"]
    name: str
    """The full hash of a commit, or a release as `name 1.2`."""
    title: str = ""
    """The first line of a commit's message."""
    day: str = ""
    """The day of a commit, `2026-01-31`. Empty if unknown."""

    @property
    def short(self) -> str:
        """The shortened hash of a commit, or the name of a release."""
        return self.name[:SHORT] if self.kind == "commit" else self.name


@dataclass(frozen=True)
class Candidate:
    """A version of the code that a bisection may measure."""

    name: str
    variant: str
    """The candidate as an argument of `gnnbench ab`, such as `git:0123abcd`."""
    cause: Cause | None = None
    """The commit or release that turned the previous candidate into this one. None for the good end."""


@dataclass(frozen=True)
class Place:
    """Two candidates between which something changed."""

    before: Candidate
    after: Candidate
    causes: tuple[Cause, ...]
    """All commits or releases after `before`, up to `after`. At least one of them caused the change."""


@dataclass(frozen=True)
class History:
    """At least two candidates: the first is the good end, the last is the bad end."""

    candidates: tuple[Candidate, ...]

    @classmethod
    def between(cls, good: str, bad: str, root: Path) -> Self:
        """Return the history between two variants, which must differ in exactly one part."""
        parts = [variant.words(text) for text in (good, bad)]
        common = [part for part in parts[0] if part in parts[1]]
        differing = [[part for part in words if part not in common] for words in parts]
        if [len(words) for words in differing] != [1, 1]:
            raise UsageError(f"GOOD and BAD must differ in one part; {good!r} and {bad!r} do not: {_FORM}")
        (old,), (new,) = differing
        for text in (good, bad):
            variant.parse(text).check(root)
        kinds = {text.partition(":")[0] for text in (old, new)}
        if kinds not in ({"git"}, {"pip"}):
            raise UsageError(f"{old!r} and {new!r} are not two commits or two releases: {_FORM}")
        candidates = _commits if kinds == {"git"} else _releases
        return cls(tuple(candidates(old, new, common, root)))

    @property
    def last(self) -> int:
        """Position of the bad end."""
        return len(self.candidates) - 1

    def place(self, low: int, high: int) -> Place:
        """Return the candidates at two positions, and the commits or releases between them."""
        before, *later = self.candidates[low : high + 1]
        return Place(before, later[-1], tuple(candidate.cause for candidate in later if candidate.cause))


def _commits(old: str, new: str, common: Sequence[str], root: Path) -> list[Candidate]:
    """Return both ends and the commits between them. `common`: the other parts of the variants."""
    good, bad = (variant.parse(shlex.join([text])).of(Commit)[0] for text in (old, new))
    if good.folder != bad.folder:
        raise UsageError(f"{old!r} and {new!r} are from two repositories: give two commits of one")
    repository = good.repository(root)
    folder, first, last = repository.root, repository.commit(good.ref), repository.commit(bad.ref)
    if first == last:
        raise UsageError(f"{old} and {new} are the same commit: give two different commits")
    if (base := git.merge_base(folder, first, last)) != first:
        ancestor = "run git fetch --unshallow" if git.is_shallow(folder) else "give an ancestor"
        instead = f"give their last common commit {base}" if base else ancestor
        remedy = "swap them" if base == last else instead
        raise UsageError(f"{old} is not in the history of {new}: {remedy}")
    causes: dict[str, Cause | None] = {first: None}
    for row in git.commits_between(folder, first, last):
        causes[row.hash] = Cause("commit", row.hash, one_line(row.title), row.day)
    texts = {name: shlex.join([str(Commit(name, good.folder)), *common]) for name in causes}
    return [Candidate(name[:SHORT], texts[name], cause) for name, cause in causes.items()]


def _releases(old: str, new: str, common: Sequence[str], root: Path) -> list[Candidate]:
    """Return both ends and the releases between them, without pre-releases and yanked releases.

    If neither end names a build such as `+cpu`, prefer releases without a build; pip would prefer builds.
    """
    (name, good), (other, bad) = (pinned(text.partition(":")[2]) for text in (old, new))
    if canonicalize_name(name) != canonicalize_name(other):
        raise UsageError(f"{old!r} and {new!r} are two packages: give two releases of one package")
    first, last = Version(good), Version(bad)
    if first > last:
        raise UsageError(f"{old} is newer than {new}: swap them")
    releases = available(name, root)
    between = {Version(release.public) for release in releases if first < release < last}
    between -= {Version(end.public) for end in (first, last)}
    builds = {release.public for release in releases if release.local and not (first.local or last.local)}
    ambiguous = builds & {str(release) for release in releases}
    current = installed(canonicalize_name(name).replace("-", "_"))
    candidates: list[Candidate] = []
    for text in [good, *map(str, sorted(between)), bad]:
        pin = f"pip:{name}{'===' if text in ambiguous else '=='}{text}"
        parts = [] if current and current.version == text else [pin]  # the installed release needs no pip
        cause = Cause("release", f"{name} {text}") if candidates else None
        candidates.append(Candidate(f"{name} {text}", shlex.join([*parts, *common]) or ".", cause))
    return candidates


def available(name: str, root: Path, *, early: bool = False) -> list[Version]:
    """Return the releases and builds that pip finds, except yanked ones. `early`: include pre-releases."""
    process = call([*_PIP, *(["--pre"] if early else []), "--", name], root, os.environ)
    match = re.search(r"^Available versions: (.+)$", process.stdout, re.MULTILINE)
    if process.returncode or not match:
        reason = last_line(process.stderr) or "it lists none"
        raise UsageError(f"pip finds no releases of {name}: {reason}; check the name and the index")
    versions = []
    for text in match[1].split(","):
        with suppress(InvalidVersion):
            versions.append(Version(text.strip()))
    return [version for version in versions if early or not version.is_prerelease]
