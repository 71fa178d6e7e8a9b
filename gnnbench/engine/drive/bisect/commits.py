"""The commits between two ends."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from ...ground import git
from ...ground.errors import UsageError, one_line
from ...process.variants.worktree import Repository
from .line import SHORT, Candidate, Cause, Line

_TAGS = ("v{}", "{}", "{name}-{}", "{name}-v{}", "release-{}")
"""How repositories call the tag of a release."""


def line(
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
