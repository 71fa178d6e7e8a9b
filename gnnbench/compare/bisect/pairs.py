"""Runs pairs of processes of two candidates: prepares both, inspects benchmarks, and times them in turns."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ...clocks import RealTime
from ...errors import UsageError
from ...variants.prepare import Prepared
from ...variants.variant import UnbuildableError
from ..ab.inspections import Inspections
from ..ab.pair import Workers
from ..ab.processes import Processes
from ..ab.visit import NotTimed, Visit
from .measured import Measured, Seen
from .ready import Ready

if TYPE_CHECKING:
    from ..ab.turns import Size

_SEED = 0
"""Of the random numbers of inspections, so that those of several pairs can be compared."""
_STARTS = 2
"""The run ends after this many pairs in a row whose good side does not start."""


class Watcher(Protocol):
    """Receives the progress."""

    def say(self, text: str) -> None:
        """Receive a problem from which the run recovered."""

    def step(self, text: str, at_most_seconds: float | None = None) -> None:
        """Receive the step that begins, and the longest time that it can take, if known."""


Plan = Callable[[Workers], tuple[Mapping[str, float], float]]
"""Returns, for both processes when they have started, the benchmarks with the seconds of their turns, and
the seconds after which no further one is begun."""
Known = Callable[[str, int, Seen], bool]
"""Whether a benchmark need not be timed at a position, because a candidate that runs the same was."""


@dataclass
class _Found:
    """What a pair has said so far."""

    seen: dict[str, tuple[Seen, Seen]] = field(default_factory=dict)
    visits: dict[str, Visit] = field(default_factory=dict)
    failures: dict[str, NotTimed] = field(default_factory=dict)
    settled_seconds: float = 0.0


class Pairs:
    """Pairs of processes, one after the other.

    Args:
        ready: prepares the candidates.
        arguments: pytest's arguments.
        folder: pytest's working directory.
        logs: folder for the output of the processes.
        timeout_seconds: a side that does not answer for so long is given up.
        watcher: receives the progress.
        seed: seeds the order of the sides.
    """

    def __init__(
        self,
        ready: Ready,
        arguments: Sequence[str],
        folder: Path,
        logs: Path,
        timeout_seconds: float,
        watcher: Watcher,
        seed: int,
    ) -> None:
        self._ready, self._arguments, self._folder, self._logs = ready, arguments, folder, logs
        self._timeout_seconds, self._watcher = timeout_seconds, watcher
        self._rng = random.Random(seed)  # noqa: S311 - turns, not secrets
        self._sizes: dict[str, Size] = {}
        self._inspections: dict[int, dict[str, Inspections]] = {}
        self._blind: set[str] = set()
        """Benchmarks without a fingerprint."""
        self._what = ""
        self._number = self._failed_starts = 0
        self._fake_seconds = 0.0

    def measure(
        self, position: int, what: str, plan: Plan, known: Known, *, ends: bool = False
    ) -> Measured | None:
        """Inspect and time benchmarks of a candidate beside candidate 0.

        Args:
            position: the candidate's.
            what: what is measured, for the progress.
            plan: says which, and for how long.
            known: whether one need not be timed once it is inspected.
            ends: whether the candidate is the bad end, compared with the good one.

        Returns:
            What was found; None: candidate 0 did not start, try again.

        Raises:
            UsageError: candidate 0 cannot be measured, or the ends import nothing from a candidate.
        """
        begin = RealTime.seconds()
        try:
            base = self._ready.get(0)
            head = self._ready.get(position)
        except UnbuildableError as error:
            if ends or 0 not in self._ready:
                raise
            return Measured(position, ends, RealTime.seconds() - begin, broken=str(error))
        self._ready.forget((0, position))
        inspections = self._inspections.setdefault(position, {})
        self._what = what
        self._watcher.step(f"{what}: starting both sides, and collecting", 2 * self._timeout_seconds)
        with self._workers(base, head, inspections) as workers:
            if workers.broken:
                return self._not_started(workers, position, RealTime.seconds() - begin, ends=ends)
            self._failed_starts = 0
            found = self._visit_all(workers, position, plan, known)
            self._watcher.step(f"{what}: ending the processes")
        if ends:
            workers.check_trees(base, head)
        simulated = workers.processes.fake_seconds is not None
        self._fake_seconds = workers.processes.fake_seconds or 0.0
        timed = 0.0 if simulated else sum(one.seconds for one in found.visits.values())
        seconds = RealTime.seconds() - begin - timed - found.settled_seconds
        return Measured(
            position, ends, seconds, found.settled_seconds, None, found.seen, found.visits, found.failures
        )

    def compare(self, low: int, high: int, names: Sequence[str]) -> dict[str, Inspections]:
        """Inspect benchmarks in two candidates; those that cannot be inspected are left out.

        Raises:
            UsageError: a candidate cannot be built.
        """
        found: dict[str, Inspections] = {}
        with self._workers(self._ready.get(low), self._ready.get(high), {}) as workers:
            for name in names:
                if workers.broken:
                    break
                one = workers.inspect(name, _SEED)
                if isinstance(one, Inspections):
                    found[name] = one
        return found

    def _workers(self, base: Prepared, head: Prepared, inspections: dict[str, Inspections]) -> Workers:
        self._number += 1
        processes = Processes(
            base,
            head,
            self._arguments,
            folder=self._folder,
            logs=self._logs,
            rng=self._rng,
            timeout_seconds=self._timeout_seconds,
            number=self._number,
            fake_seconds=self._fake_seconds,
        )
        return Workers(processes, self._rng, self._sizes, inspections, time_all=True)

    def _not_started(self, workers: Workers, position: int, seconds: float, *, ends: bool) -> Measured | None:
        """Return what a pair says whose processes did not both start."""
        assert workers.broken
        if workers.broken_side == "base" or ends:
            self._failed_starts += 1
            if self._failed_starts >= _STARTS:
                raise UsageError(workers.broken)
            self._watcher.say(f"{workers.broken}; restarting both sides")
            return None
        return Measured(position, ends, seconds, broken=workers.broken)

    def _visit_all(self, workers: Workers, position: int, plan: Plan, known: Known) -> _Found:
        found, planned = _Found(), plan(workers)
        begin = RealTime.seconds()
        for number, (name, seconds) in enumerate(planned[0].items(), 1):
            if number > 1 and self._elapsed(workers.processes, begin) > planned[1]:
                break
            of = f"benchmark {number} of {len(planned[0])}"
            self._watcher.step(f"{self._what}: inspecting {of}: {name}")
            visited = RealTime.seconds()
            one: Visit | NotTimed | None = self._inspected(workers, position, name, found, known)
            if one is None:
                self._watcher.step(f"{self._what}: timing {of} for {seconds:.1f} s: {name}")
                one = workers.visit(name, seconds)
            once = name in self._blind and name in found.seen
            if isinstance(one, Visit):
                found.visits[name] = one
            elif one and not once:  # else its single round was inspected: fresh processes time it
                found.failures[name] = one
                if one.kind != "failed":
                    found.settled_seconds += RealTime.seconds() - visited
            if workers.broken:
                self._watcher.say(f"{name}: {workers.broken}; restarting both sides")
                break
        return found

    def _inspected(
        self, workers: Workers, position: int, name: str, found: _Found, known: Known
    ) -> NotTimed | None:
        """Inspect a benchmark in the first pair of a candidate; return why it is not timed; None: it is."""
        if name in self._inspections[position] or name in self._blind:
            return None
        one = workers.inspect(name, _SEED)
        if isinstance(one, NotTimed):
            return one
        self._inspections[position][name] = one
        sides = Seen.of(one.sides[0]), Seen.of(one.sides[1])
        found.seen[name] = sides
        if one.unseen:
            self._blind.add(name)
        if one.same_code:
            return NotTimed("same code", "runs the same code")
        if known(name, position, sides[1]):
            return NotTimed("same code", "runs the same code as another candidate")
        return None

    def _elapsed(self, processes: Processes, begin: float) -> float:
        """Return the seconds of a pair's visits so far, those of a simulated machine included."""
        simulated = max((processes.fake_seconds or 0.0) - self._fake_seconds, 0.0)
        return RealTime.seconds() - begin + simulated
