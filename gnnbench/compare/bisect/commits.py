"""The commits between two ends."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from ... import git
from ...errors import UsageError, one_line
from ...variants.worktree import Repository
from .line import SHORT, Candidate, Cause, Line

Common = Sequence[str]
"""The parts that the variants of all candidates have in common."""


def line(
    folder: Path, typed: str | None, good: str, bad: str, *, common: Common = (), skip: Sequence[str] = ()
) -> Line:
    """Return the line of commits between two ends.

    From the good end it goes back to the newest commit that both ends have in their histories, usually the
    good end itself, and from there to the bad end. Of a merge, it follows the first parent.

    Args:
        folder: a folder of the repository.
        typed: the folder as the user typed it, in `git:DIR@REF`; None: it is the caller's repository.
        good: any name of a commit, the good end.
        bad: likewise.
        common: parts of all candidates' variants.
        skip: commits, or ranges A..B, that are not to be measured.

    Raises:
        UsageError: there are no such commits, or they have no common history.
    """
    repository = Repository.at(folder, _part(typed, good))
    ends = repository.commit(good), Repository.at(folder, _part(typed, bad)).commit(bad)
    if ends[0] == ends[1]:
        raise UsageError(f"{_part(typed, good)} and {_part(typed, bad)} are the same commit: give two")
    base = git.merge_base(folder, *ends)
    if base is None:
        raise UsageError(f"{_part(typed, good)} and {_part(typed, bad)} have no common history")
    undone = git.first_parents(folder, base, ends[0])[::-1]
    done = git.first_parents(folder, base, ends[1])
    steps = [*((one, True) for one in undone), *((one, False) for one in done)]
    # Going back, a candidate is what is left when the commits above it are undone.
    hashes = [ends[0], *(one.hash for one in undone[1:]), *([base] if undone else [])]
    hashes += [one.hash for one in done]
    candidates = [
        Candidate(hash_[:SHORT], shlex.join([_part(typed, hash_), *common]), cause)
        for hash_, cause in zip(hashes, [None, *(_cause(*step) for step in steps)], strict=True)
    ]
    return Line("commit", tuple(candidates), _skipped(folder, hashes, skip), tuple(_notes(undone, done)))


def _part(typed: str | None, ref: str) -> str:
    return f"git:{ref}" if typed is None else f"git:{typed}@{ref}"


def _cause(commit: git.Commit, undone: bool) -> Cause:
    return Cause("commit", commit.hash, one_line(commit.title), commit.day, undone, commit.parents)


def _skipped(folder: Path, hashes: Sequence[str], skip: Sequence[str]) -> frozenset[int]:
    """Return the positions of the commits to skip.

    Raises:
        UsageError: one does not exist, is an end, or is not on the line.
    """
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
    if found & {0, len(hashes) - 1}:
        raise UsageError("--skip names an end; give another good or bad commit instead")
    return frozenset(found)


def _notes(undone: Sequence[git.Commit], done: Sequence[git.Commit]) -> Iterator[str]:
    if undone and done:
        yield (
            f"the ends are on two branches: {len(undone)} of the {len(undone) + len(done)} steps take back "
            "commits of the good end's"
        )
