"""A line of candidates: versions of the code in order, from the good end to the bad one."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from ...errors import UsageError, unknown_name

Kind = Literal["commit", "release", "package"]
SHORT = 10
"""Characters of a commit's hash in names."""


@dataclass(frozen=True)
class Move:
    """A package that gets another release."""

    name: str
    old: str
    new: str


@dataclass(frozen=True)
class Cause:
    """What one step of a line changes."""

    kind: Kind
    name: str
    """A commit's full hash; a release, `thing 1.2`; packages, `thing 1.2 → 1.3`."""
    title: str = ""
    """A commit's subject line."""
    day: str = ""
    """A commit's day, `2026-01-31`; empty: unknown."""
    undone: bool = False
    """Whether the step takes the commit back: it is on the good end's side of the common history only."""
    parents: int = 1
    """Number of a commit's parents."""
    moves: tuple[Move, ...] = ()
    """The packages that a release or package step exchanges."""

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
class Line:
    """The candidates from the good end, the first, to the bad end, the last; at least two."""

    kind: Kind
    candidates: tuple[Candidate, ...]
    skipped: frozenset[int] = frozenset()
    """Positions of candidates that the user does not want to be measured."""
    notes: tuple[str, ...] = ()
    """Notes for the user on how it was made."""

    @property
    def last(self) -> int:
        """Position of the bad end."""
        return len(self.candidates) - 1

    @property
    def goes_back(self) -> bool:
        """Whether each step takes a commit back: the bad end is an ancestor of the good one."""
        return all(one.cause.undone for one in self.candidates if one.cause)

    def causes(self, low: int, high: int) -> list[Cause]:
        """Return what the steps after candidate `low`, up to `high`, change."""
        return [one.cause for one in self.candidates[low + 1 : high + 1] if one.cause]


def skipped(skip: Collection[str], places: Mapping[str, int]) -> frozenset[int]:
    """Return the positions of the candidates to skip.

    Args:
        skip: as the user typed them.
        places: position of each candidate.

    Raises:
        UsageError: one is no candidate, or is the bad end.
    """
    for text in skip:
        if text not in places:
            raise unknown_name("candidate to skip", text, list(places))
    found = frozenset(places[text] for text in skip)
    if found & {0, max(places.values())}:
        raise UsageError("--skip names an end; give another good or bad end instead")
    return found
