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
from ...variants.collected import no_benchmarks
from .processes import Processes, Shared, Terms
from .turns import Turns, joined
from .visit import Inspections, NotTimed, Visit

_NO_DEFAULT = "none of the selected benchmarks is a default one; give --gnn-all too, after --"
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
        self._collected: dict[str, dict[str, Any]] = {}
        self._visited_once: set[str] = set()
        self.broken: str | None = None
        """Why nothing more can be visited: a side has died. Names the side."""
        self.broken_side = ""
        """The side that has died."""
        self.names: tuple[str, ...] = ()
        """The selected tests of either side; only running a test shows whether it is a benchmark."""
        self.several: list[str] = []
        """Tests that call `benchmark` more than once; their first call is timed."""
        self.left_out: tuple[str, ...] = ()
        """Benchmarks of gnnbench that are not selected, but can be visited: the newer side says that they are
        not default ones."""
        self.declared: frozenset[str] = frozenset()
        """The tests that request the fixture `benchmark` themselves; others may get it indirectly."""
        self.refused: dict[str, dict[str, str]] = {}
        """By side, the files that it cannot collect, each with the reason."""
        self.places: tuple[str, ...] = ()
        """The folders, files and ids among pytest's arguments, as the newer side reads them."""
        self.folders: tuple[str, ...] | None = None
        """The folders whose benchmarks are all collected, relative to rootdir; None: only some are."""
        self.rootdir = "."
        """The folder in which ids begin, relative to pytest's working directory."""

    def __enter__(self) -> Self:
        """Start both and let them collect the suite; if a side dies, the pair is broken."""
        try:
            self._collected = self.start()
        except DiedError as error:
            self._break(error)
        except BaseException:
            self.stop(0.0)
            raise
        else:
            base, head = found = [self._collected[side] for side in SIDES]
            names = dict.fromkeys((*head["names"], *base["names"]))
            left_out = {*head["left_out"], *({*base["left_out"]} - {*head["names"]})}
            self.names = tuple(name for name in names if name not in left_out)
            self.left_out = tuple(name for name in names if name in left_out)
            self.declared = frozenset(name for one in found for name in one["declared"])
            self.places, self.rootdir = tuple(head["places"]), head["rootdir"]
            if all(one["folders"] is not None for one in found):
                self.folders = tuple(head["folders"])
            self.refused = {side: one["refused"] for side, one in self._collected.items()}
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
        if missing := self._missing(name):
            return missing
        if name in self._visited_once:
            return NotTimed(
                "failed", "its single round was timed in these processes before: fresh ones are needed"
            )
        turns = Turns(self, name, self._core_rng)
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

    @property
    def benchmarks(self) -> list[str]:
        """The tests that request `benchmark`, in the order of collection."""
        return [name for name in self.names if name in self.declared]

    def chosen(self) -> list[str]:
        """Return the benchmarks.

        Raises:
            UsageError: there are none; the message says why.
        """
        if not self.benchmarks:
            marked = self._collected["head"]["marked"]
            raise UsageError(_NO_DEFAULT if self.left_out else no_benchmarks(self._refusals(), marked))
        return self.benchmarks

    def notes(self, *, all_named: bool = False) -> list[str]:
        """Return a line on each thing that their pytest does otherwise than the suite says.

        Files that a side cannot collect are among them.

        Args:
            all_named: whether the benchmarks were named, so that no line says that only default ones run.
        """
        own = [line for one in self._collected.values() for line in (*one["notes"], *one["marked"])]
        more = "pytest's argument --gnn-all adds the others"
        choice = [f"of gnnbench's benchmarks, only the default ones: {more}"] if self.left_out else []
        return [*dict.fromkeys(own), *self._refusals(), *([] if all_named else choice)]

    def _refusals(self) -> list[str]:
        """Return a line for each file that a side cannot collect."""
        return [
            f"{side}: {file} cannot be collected: {reason}"
            for side, files in self.refused.items()
            for file, reason in files.items()
        ]

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

    def _missing(self, name: str) -> NotTimed | None:
        """Return which sides have no test of that name, with the reason if it is known."""
        without = {}
        for side in SIDES:
            if name not in self._collected[side]["names"]:
                refused = [
                    f": {file} cannot be collected: {reason}"
                    for file, reason in self.refused[side].items()
                    if name.startswith(file)
                ]
                without[side] = NotTimed("failed", f"has no such test{''.join(refused[:1])}")
        return joined(without) if without else None

    def _break(self, error: DiedError) -> None:
        self.broken, self.broken_side = str(error), error.side
        self.stop(0.0)
