"""A pair of fresh processes, one per side, in which benchmarks are visited one after the other."""

import math
import random
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from ...clocks import RealTime
from ...errors import UsageError
from ...measure.instructions.counting import Instructions
from ...variants.child import SIDES, DiedError
from .processes import Processes, Shared, Terms
from .suite import Suite
from .turns import Turns, joined
from .visit import Inspections, NotTimed, Visit

_QUIT_SECONDS = 20.0

_Found = TypeVar("_Found")


class Workers(Processes):
    """Both processes. On exit, they have ended, whatever happened.

    Args:
        terms: what they are started for.
        shared: what all pairs of the run have in common.
    """

    def __init__(self, terms: Terms, shared: Shared) -> None:
        self.begin_seconds = RealTime.seconds()
        super().__init__(terms, shared)
        # Separate from `rng`: the number of draws depends on the machine.
        self._core_rng = random.Random(shared.rng.randrange(2**32))  # noqa: S311 - turns, not secrets
        self.collected: dict[str, dict[str, Any]] = {}
        """By side, its answer."""
        self.suite = Suite()
        self._visited_once: set[str] = set()
        self.broken: str | None = None
        """Why nothing more can be visited: a side has died. Names the side."""
        self.broken_side = ""
        """The side that has died."""
        self.used: dict[str, dict[str, Any]] = {}
        """By side, what it used for the last benchmark, if it notes it."""
        self.several: list[str] = []
        """Tests that call `benchmark` more than once; their first call is timed."""

    def __enter__(self) -> Self:
        """Start both and let them collect the suite; if a side dies, the pair is broken."""
        try:
            self.collected = self.start()
        except DiedError as error:
            self._break(error)
        except BaseException:
            self.stop(0.0)
            raise
        else:
            self.suite = Suite(*(self.collected[side] for side in SIDES))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Let both tear down, unless something went wrong, and end them."""
        self.stop(_QUIT_SECONDS if kind is None and self.broken is None else 0.0)

    def visit(self, name: str, seconds: float, at_most_seconds: float = math.inf) -> Visit | NotTimed:
        """Time a benchmark in turns, or return why it cannot be timed.

        After a failure, `broken` says whether more can be visited.

        Args:
            name: pytest's node id.
            seconds: for the turns, of which there are at least five, without set-up and calibration. If a
                process can time it only once, it gets one turn, in the first visit of a pair.
            at_most_seconds: with set-up and calibration; fewer turns are enough if five do not end in it.
        """
        return self._with_turns(name, lambda turns: turns.visit(seconds, at_most_seconds))

    def inspect(self, name: str) -> Inspections | NotTimed:
        """Inspect a call of a benchmark on both sides, or return why it cannot be inspected.

        After a failure, `broken` says whether more can be inspected.
        """
        return self._with_turns(name, Turns.inspect)

    def count(self, name: str) -> list[Instructions] | NotTimed:
        """Count the instructions of a call on both sides, or return why they cannot be counted.

        After a failure, `broken` says whether more can be counted.
        """
        return self._with_turns(name, Turns.count)

    def _with_turns(self, name: str, do: Callable[[Turns], _Found | NotTimed]) -> _Found | NotTimed:
        if self.broken is not None:
            raise ValueError(self.broken)
        self.used = {}
        if missing := self.suite.missing(name):
            return joined({side: NotTimed("failed", text) for side, text in missing.items()})
        if name in self._visited_once:
            return NotTimed(
                "failed", "its single round was timed in these processes before: fresh ones are needed"
            )
        turns = Turns(self, name, self._core_rng)
        self.used = turns.used
        try:
            found = do(turns)
        except DiedError as error:
            self._break(error)
            return NotTimed("failed", str(error), (error.side,))
        if turns.several:
            self.several.append(name)
        if turns.once:
            self._visited_once.add(name)
        return found

    def check_trees(self) -> None:
        """Check that the code of the variants ran.

        Raises:
            UsageError: the benchmarks imported nothing from a variant.
        """
        for side, given in self._given.items():
            if given.trees and not self.loaded[side] and not self.broken:
                raise UsageError(
                    f"{side}: the benchmarks import no package of {given.text}: nothing to compare"
                )

    def _break(self, error: DiedError) -> None:
        self.broken, self.broken_side = str(error), error.side
        self.stop(0.0)
