"""A line of candidates for a bisection: versions of the code in order, from the good end to the bad one."""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

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
        """The name; the hash of a commit is shortened."""
        return self.name[:SHORT] if self.kind == "commit" else self.name


@dataclass(frozen=True)
class Candidate:
    """A version of the code."""

    name: str
    """Its name in messages."""
    variant: str
    """The variant that builds it, as users type variants."""
    cause: Cause | None = None
    """What differs from the previous candidate. None for the good end."""


@dataclass(frozen=True)
class Place:
    """Two candidates between which something changed."""

    before: Candidate
    after: Candidate
    causes: tuple[Cause, ...]
    """All commits or releases from `before` to `after`; at least one of them caused the change."""


@dataclass(frozen=True)
class Line:
    """At least two candidates: the first is the good end, the last is the bad end."""

    candidates: tuple[Candidate, ...]

    @property
    def last(self) -> int:
        """Position of the bad end."""
        return len(self.candidates) - 1

    def place(self, low: int, high: int) -> Place:
        """Return the place between the candidates at two positions."""
        before, *rest = self.candidates[low : high + 1]
        return Place(before, rest[-1], tuple(candidate.cause for candidate in rest if candidate.cause))


def line(good: str, bad: str, root: Path) -> Line:
    """Return the line between two variants, which must differ in exactly one part."""
    parts = [variant.words(text) for text in (good, bad)]
    common = [part for part in parts[0] if part in parts[1]]
    differing = [[part for part in words if part not in common] for words in parts]
    if [len(words) for words in differing] != [1, 1]:
        raise UsageError(f"GOOD and BAD must differ in one part, but {good!r} and {bad!r} do not: {_FORM}")
    (old,), (new,) = differing
    for text in (good, bad):
        variant.parse(text).check(root)
    kinds = {text.partition(":")[0] for text in (old, new)}
    if kinds not in ({"git"}, {"pip"}):
        raise UsageError(f"{old!r} and {new!r} are not two commits or two releases: {_FORM}")
    return Line(tuple((_commits if kinds == {"git"} else _releases)(old, new, common, root)))


def _commits(old: str, new: str, common: Sequence[str], root: Path) -> list[Candidate]:
    """Return the commits between two ends, along the first parents of merges."""
    good, bad = (commit for text in (old, new) for commit in variant.parse(shlex.join([text])).of(Commit))
    if good.folder != bad.folder:
        raise UsageError(f"{old!r} and {new!r} are from two repositories: give two commits of one")
    repository = good.repository(root)
    folder, first, last = repository.root, repository.commit(good.ref), repository.commit(bad.ref)
    if first == last:
        raise UsageError(f"{old} and {new} are the same commit: give two different commits")
    if (base := git.merge_base(folder, first, last)) != first:
        instead = f"give their last common commit {base}" if base else "give an ancestor"
        raise UsageError(
            f"{old} is not in the history of {new}: " + ("swap them" if base == last else instead)
        )
    commits = git.first_parents(folder, first, last)
    causes = [Cause("commit", row.hash, one_line(row.title), row.day) for row in commits]
    return [
        Candidate(hash_[:SHORT], shlex.join([str(Commit(hash_, good.folder)), *common]), cause)
        for hash_, cause in zip((first, *(row.hash for row in commits)), (None, *causes), strict=True)
    ]


def _releases(old: str, new: str, common: Sequence[str], root: Path) -> list[Candidate]:
    """Return the releases between two ends, without pre-releases and yanked releases.

    If neither end names a build, such as `+cpu`, releases without a build are preferred, unlike by pip.
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
    several = builds & {str(release) for release in releases}
    current = installed(canonicalize_name(name).replace("-", "_"))
    candidates: list[Candidate] = []
    for text in [good, *map(str, sorted(between)), bad]:
        pin = f"pip:{name}{'===' if text in several else '=='}{text}"
        parts = [] if current and current.version == text else [pin]  # the installed release is here already
        cause = Cause("release", f"{name} {text}") if candidates else None
        candidates.append(Candidate(f"{name} {text}", shlex.join([*parts, *common]) or ".", cause))
    return candidates


def available(name: str, root: Path, *, early: bool = False) -> list[Version]:
    """Return the releases and builds that pip finds, except yanked ones. `early`: also nightly builds."""
    answer = call([*_PIP, *(["--pre"] if early else []), "--", name], root, os.environ)
    match = re.search(r"^Available versions: (.+)$", answer.stdout, re.MULTILINE)
    if answer.returncode or not match:
        reason = last_line(answer.stderr) or "it lists none"
        raise UsageError(f"pip finds no releases of {name}: {reason}; check the name and the index")
    versions = []
    for text in match[1].split(","):
        with suppress(InvalidVersion):
            versions.append(Version(text.strip()))
    return [version for version in versions if early or not version.is_prerelease]
