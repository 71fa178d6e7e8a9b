"""Processes from which those of pairs are forked, and what else all pairs of a run have in common."""

import math
import random
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..ground.cpu import RealTime
from .plan import Plan
from .variants.child import SIDES, Child
from .variants.variant import Prepared

PAIRS_OF_PARENTS = 4
"""So many pairs are forked from one pair of parents. Others then differ from them in what a process draws,
such as addresses of libraries and the hash seed."""
PAIRS_OF_BOTH = 12
"""The same for a process with both sides, which do not differ in what that draws."""
_WORTH_STARTS = 4
"""Parents stay if the time of the run that is left is shorter than so many of their starts."""


@dataclass
class Parents:
    """A process of each side that has collected the suite; each pair of processes is forked from them."""

    children: Mapping[str, Child]
    """By side; the same one if it is of both."""
    collected: dict[str, dict[str, Any]]
    """By side, what it says of the tests that it has collected."""
    sides: tuple[Prepared, Prepared]
    seconds: float
    """How long their start took."""
    pairs: int = 0
    """How many pairs were forked."""
    sessions: Mapping[str, int] = field(default_factory=dict)
    """By side, the number of its session, if one process has both. The last session is the base's again."""

    def of_base(self) -> "Parents":
        """Return the base's as the parents of both sides."""
        base, head = SIDES
        children = dict.fromkeys(SIDES, self.children[base])
        collected = dict.fromkeys(SIDES, self.collected[base])
        sessions = {base: self.sessions[base], head: len(SIDES)} if self.sessions else {}
        return Parents(children, collected, (self.sides[0],) * 2, self.seconds, sessions=sessions)

    @property
    def most_pairs(self) -> int:
        """How many pairs are forked from them at most, unless little time is left."""
        return PAIRS_OF_BOTH if self.sessions else PAIRS_OF_PARENTS

    def stop(self) -> None:
        """End them."""
        with ExitStack() as stack:
            for child in self.children.values():
                stack.callback(child.stop)


@dataclass
class Shared:
    """What all pairs of a run have in common."""

    plan: Plan
    logs: Path
    """Folder for the output of the processes: `base-NUMBER.log`, `head-NUMBER.log`."""
    rng: random.Random
    """Draws random seeds, and the order of the sides."""
    number: int = 0
    """Of pairs that were started."""
    fake_seconds: float = 0.0
    """Time of the simulated machine, if GNNBENCH_FAKE_CLOCK asks for one."""
    simulated: bool = False
    parents: Parents | None = None
    """What the processes of the next pair are forked from. None if nothing can be forked, or not yet."""
    why_no_forks: str = ""
    """Why each pair has processes of its own. Empty if it has not, or if that is not known yet."""
    why_apart: str = ""
    """Why both sides of a pair are not in one process. Empty if they are, or if that is not known yet."""
    end_seconds: float = math.inf
    """When the time of the run ends, by RealTime. Then processes that have started are waited for no more."""

    def now(self) -> float:
        """Return the time in seconds, of the simulated machine if there is one."""
        return self.fake_seconds if self.simulated else RealTime.seconds()

    def parents_of(self, sides: tuple[Prepared, Prepared]) -> Parents | None:
        """Return the parents of the next pair of two sides; those that are used up, or others', are ended."""
        parents = self.parents
        if parents:
            is_worth_a_start = self.left_seconds() > _WORTH_STARTS * parents.seconds
            if parents.sides != sides or (parents.pairs >= parents.most_pairs and is_worth_a_start):
                self.end_parents()
        return self.parents

    def end_parents(self) -> None:
        """End the processes that pairs are forked from, if there are any."""
        parents, self.parents = self.parents, None
        if parents:
            parents.stop()

    def left_seconds(self) -> float:
        """Return how much of the run's time is left; a simulated machine ends its time by itself."""
        return math.inf if self.simulated else self.end_seconds - RealTime.seconds()
