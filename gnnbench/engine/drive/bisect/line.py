"""A line of candidates: versions of the code in order, from the good end to the bad one."""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Literal

from ...ground.errors import UsageError, unknown_name
from ...process.variants.prepare import Prepared

Kind = Literal["commit", "hunk", "release"]
SHORT = 10
"""Characters of a commit's hash in names."""
_KEPT = 4
"""Candidates that are kept beside those in use: a checkout has the bytecode of its last start."""


@dataclass(frozen=True)
class Cause:
    """What one step of a line changes."""

    kind: Kind
    name: str
    """A commit's full hash; `hunk 2 of 5`; a release, `thing 1.2`."""
    title: str = ""
    """A commit's subject line; where a hunk is, `in softmax(), pyg/softmax.py`."""
    day: str = ""
    """A commit's day, `2026-01-31`; empty: unknown."""
    undone: bool = False
    """Whether the step takes the commit back: it is on the good end's side of the common history only."""
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
class Line:
    """The candidates from the good end, the first, to the bad end, the last; at least two."""

    kind: Kind
    candidates: tuple[Candidate, ...]
    skipped: frozenset[int] = frozenset()
    """Positions of candidates that the user does not want to be measured."""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that both ends are measured."""
        if self.skipped & {0, self.last}:
            raise UsageError("--skip names an end: give another good or bad end instead")

    @property
    def last(self) -> int:
        """Position of the bad end."""
        return len(self.candidates) - 1

    def causes(self, low: int, high: int) -> list[Cause]:
        """Return what the steps after candidate `low`, up to `high`, change."""
        return [one.cause for one in self.candidates[low + 1 : high + 1] if one.cause]


@dataclass(frozen=True)
class Place:
    """A place in a line where something changed."""

    before: Candidate
    """The last candidate without the change."""
    after: Candidate
    """The first one that is known to have it."""
    causes: tuple[Cause, ...]
    """What may be the cause; one, if it is known."""


class Ready(ExitStack):
    """The candidates that are checked out, installed or built. On exit, all are cleaned up."""

    def __init__(self, prepare: Callable[[int], AbstractContextManager[Prepared]]) -> None:
        super().__init__()
        self._prepare = prepare
        self._made: dict[int, tuple[ExitStack, Prepared]] = {}

    def get(self, position: int) -> Prepared:
        """Return a candidate."""
        if position not in self._made:
            own = self.enter_context(ExitStack())
            self._made[position] = own, own.enter_context(self._prepare(position))
        self._made[position] = self._made.pop(position)  # the last used is the last
        return self._made[position][1]

    def forget(self, keep: Collection[int]) -> None:
        """Clean up the candidates that were used longest ago, but none of those to keep."""
        others = [position for position in self._made if position not in keep]
        for position in others[: max(len(others) - _KEPT, 0)]:
            self._made.pop(position)[0].close()


def skipped(skip: Collection[str], places: Mapping[str, int]) -> frozenset[int]:
    """Return the positions of the candidates to skip."""
    for text in skip:
        if text not in places:
            raise unknown_name("candidate to skip", text, list(places))
    return frozenset(places[text] for text in skip)
