"""The versions of a watched package or repository, in order: releases, nightly builds, or commits."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path

from packaging.version import InvalidVersion
from packaging.version import Version as Release

from ...engine.drive.bisect import history
from ...engine.drive.bisect.history import SHORT
from ...engine.ground import git
from ...engine.ground.errors import UsageError, unknown_name
from ...engine.process.variants import variant
from ...engine.process.variants.variant import Commit

_NIGHT = re.compile(r"\.?dev(20\d\d)(\d\d)(\d\d)")
"""The day in the version of a nightly build, `2.9.0.dev20261027`."""
_TAGS = ("v{}", "{}", "{name}-{}", "{name}-v{}", "release-{}")
"""Usual names for the tag of a release."""


@dataclass(frozen=True)
class Version:
    """A version of the watched package or repository."""

    name: str
    """A release, a nightly build, or the beginning of a commit's hash."""
    variant: str
    """The variant of `gnnbench ab` for this version."""
    day: str = ""
    """`2026-10-27`. Empty if unknown."""
    title: str = ""
    """A commit's subject line."""


@dataclass(frozen=True)
class Watched:
    """The watched package or repository."""

    text: str
    """As the user typed it: `torch_geometric`, or `git:../pyg@master`."""
    root: Path
    """The folder that relative paths start from."""
    clone: str | None = None
    """The package's repository, `DIR[@REF]`."""

    @cached_property
    def _commit(self) -> Commit | None:
        """The newest commit to watch. None if a package is watched."""
        if ":" not in self.text and not self.text.startswith((".", "/", "~")):
            variant.pinned(f"{self.text}==0")  # refuses what is no name of a package
            return None
        parts = variant.parse(shlex.join([self.text]))
        if not self.text.startswith("git:"):
            raise UsageError(f"{self.text!r} cannot be watched: give a package, git:REF or git:DIR@REF")
        return parts.of(Commit)[0]

    @property
    def is_package(self) -> bool:
        """Whether a package is watched, rather than a repository."""
        return self._commit is None

    def versions(self, since: str | None, until: str | None, last: Version | None) -> list[Version]:
        """Return the last compared version, or `since` if there is none, and all versions after it."""
        return self._releases(since, until, last) if self.is_package else self._commits(since, until, last)

    def _releases(self, since: str | None, until: str | None, last: Version | None) -> list[Version]:
        index = history.available(self.text, self.root, early=True)
        builds = {item.public for item in index if item.local}  # pip would prefer them
        releases = sorted({Release(item.public) for item in index})
        releases = [item for item in releases if not item.is_prerelease] or releases  # a nightly index
        start, end = (
            None if text is None else _release(self.text, text, releases)
            for text in (last.name if last else since, until)
        )
        first = start or releases[-2:][0]
        if since and not last and first > releases[-1]:
            raise unknown_name(f"version of {self.text}", since, list(map(str, releases[-20:])))
        # The last compared version may have been removed from the index.
        later = [item for item in releases if first < item <= (end or releases[-1])]
        return [self._release(str(item), "===" if str(item) in builds else "==") for item in (first, *later)]

    def _release(self, version: str, equals: str = "==") -> Version:
        night = _NIGHT.search(version)
        day = "-".join(night.groups()) if night else ""
        return Version(version, f"pip:{self.text}{equals}{version}", day)

    def _commits(self, since: str | None, until: str | None, last: Version | None) -> list[Version]:
        assert self._commit
        folder, newest = self._commit.repository(self.root).root, self._at(until or self._commit.ref)
        start = last.name if last else self._at(since or f"{newest.hash}^").hash
        # The branch may have been rewritten since its last commit was compared.
        first = git.merge_base(folder, start, newest.hash)
        if first is None:
            reason = f"{self.text} has no commit in common with {start}"
            raise UsageError(f"{reason}: fetch its history, or give another --state FOLDER")
        return [*map(self._version, (self._at(first), *git.commits_between(folder, first, newest.hash)))]

    def named(self, name: str) -> Version:
        """Return a version of the watched package or repository by its name."""
        return self._release(name) if self.is_package else self._version(self._at(name))

    def _at(self, ref: str) -> git.Commit:
        assert self._commit
        repository = Commit(ref, self._commit.folder).repository(self.root)
        return git.commits(repository.root, "-1", repository.commit(ref))[0]

    def _version(self, commit: git.Commit) -> Version:
        assert self._commit
        text = shlex.join([str(Commit(commit.hash, self._commit.folder))])
        return Version(commit.hash[:SHORT], text, commit.day, commit.title)

    def ends(self, base: Version, head: Version) -> tuple[str, str] | None:
        """Return the endpoints of a bisection between two versions. Returns None without a repository."""
        if not self.is_package:
            return base.variant, head.variant
        if self.clone is None:
            return None
        typed, _, ref = self.clone.partition("@")
        typed = typed if typed.startswith((".", "/", "~")) else f"./{typed}"
        folder = Commit(ref, typed).repository(self.root).root
        first, last = (
            self._by_day(folder, ref or "HEAD", version.day, days)
            if version.day
            else _tag(self.text, version.name, typed, folder)
            for version, days in ((base, 0), (head, 1))
        )
        first = git.merge_base(folder, first, last) or first  # releases may be on branches of their own
        return shlex.join([str(Commit(first, typed))]), shlex.join([str(Commit(last, typed))])

    def _by_day(self, folder: Path, ref: str, day: str, days: int) -> str:
        until = date.fromisoformat(day) + timedelta(days=days)
        if commit := git.last_before(folder, ref, until.isoformat()):
            return commit
        raise UsageError(f"{self.clone} has no commit before {until}: fetch its history")


def _tag(name: str, version: str, typed: str, folder: Path) -> str:
    """Return the tag of a release in a repository; `typed` is its folder as the user typed it."""
    names = git.refs(folder, "refs/tags")
    candidates = [form.format(version, name=name) for form in _TAGS]
    if tag := next((tag for tag in candidates if tag in names), None):
        return tag
    raise UsageError(f"{typed} has no tag for {name} {version}, such as {candidates[0]}: fetch its tags")


def _release(name: str, text: str, releases: Sequence[Release]) -> Release:
    """Parse a version. If the text is not a version, the error message lists `releases`."""
    try:
        return Release(text)
    except InvalidVersion:
        raise unknown_name(f"version of {name}", text, list(map(str, releases[-20:]))) from None


def anchor(text: str | None, compared: Sequence[Version], watched: Watched) -> Version | None:
    """Return the anchor: N versions before the newest, or one by name. Returns None if N is 0 or 1."""
    if text and not text.isdigit():
        if ":" in text:
            return Version(shlex.split(text)[0].partition(":")[2], text)
        match = next((version for version in compared if text in (version.name, version.variant)), None)
        return match or watched.named(text)
    steps = int(text or (30 if compared[-1].day else 5))
    base = compared[max(len(compared) - 1 - steps, 0)]
    return base if steps > 1 and base not in compared[-2:] else None
