"""Runs pairs of processes of two candidates: prepares both, inspects benchmarks, and times them in turns."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...clocks import RealTime
from ...errors import UsageError
from ...variants.builds import Build
from ...variants.prepare import Prepared
from ...variants.variant import UnbuildableError
from ..ab.coordinator import Watcher
from ..ab.inspections import Inspections
from ..ab.pair import Workers
from ..ab.processes import Processes
from ..ab.schedule import Plan
from ..ab.visit import NotTimed, Visit
from ..verdict import Thresholds
from .line import Ready
from .measured import Measured, Seen

if TYPE_CHECKING:
    from ..ab.turns import Size

_SEED = 0
"""Of the random numbers of inspections, so that those of several pairs can be compared."""
_STARTS = 2
"""The run ends after this many pairs in a row whose good side does not start."""
Known = Callable[[str, int, Seen], bool]
"""Whether a benchmark need not be timed at a position, because a candidate that runs the same was."""


@dataclass(frozen=True)
class Setting:
    """How to measure."""

    arguments: tuple[str, ...]
    """Pytest's."""
    folder: Path
    """Pytest's working directory: the caller's tree, whose benchmarks run."""
    cache: Path
    """The cache folder."""
    thresholds: Thresholds
    per_benchmark_seconds: float
    """To compare the ends, divided by the number of benchmarks."""
    total_seconds: float
    """For everything together."""
    timeout_seconds: float
    """A process that does not answer for so long is given up."""
    seed: int
    """Seeds the order of sides and of benchmarks."""
    dependencies: bool = False
    """Whether to install the dependencies of pip: requirements too."""
    build: Build | None = None
    """How to build commits; None: they are not built."""
    fresh: bool = False
    """Whether to forget an earlier, unfinished run."""


class Pairs:
    """Pairs of processes, one after the other.

    Args:
        ready: prepares the candidates.
        setting: how to measure.
        logs: folder for the output of the processes.
        watcher: receives the progress.
        seed: seeds the order of the sides.
    """

    def __init__(self, ready: Ready, setting: Setting, logs: Path, watcher: Watcher, seed: int) -> None:
        self._ready, self._setting, self._logs, self._watcher = ready, setting, logs, watcher
        self._rng = random.Random(seed)  # noqa: S311 - turns, not secrets
        self._sizes: dict[str, Size] = {}
        self._inspections: dict[int, dict[str, Inspections]] = {}
        self._blind: set[str] = set()
        """Benchmarks without a fingerprint."""
        self._number = self._failed_starts = 0
        self._fake_seconds = 0.0

    def measure(
        self, position: int, what: str, plan: Callable[[Workers], Plan], known: Known, *, ends: bool = False
    ) -> Measured | None:
        """Inspect and time benchmarks of a candidate beside candidate 0.

        Args:
            position: the candidate's.
            what: what is measured, for the progress.
            plan: says which benchmarks, and for how long, when both processes have started.
            known: whether one need not be timed once it is inspected.
            ends: whether the candidate is the bad end, compared with the good one.

        Returns:
            What was found; None: candidate 0 did not start, try again.

        Raises:
            UsageError: candidate 0 cannot be measured, or the ends import nothing from a candidate.
        """
        begin, found = RealTime.seconds(), Measured(position, ends)
        base = self._ready.get(0)
        try:
            head = self._ready.get(position)
        except UnbuildableError as error:
            if ends:
                raise
            found.broken, found.start_seconds = str(error), RealTime.seconds() - begin
            return found
        self._ready.forget((0, position))
        self._watcher.step(f"{what}: starting both sides, and collecting", 2 * self._setting.timeout_seconds)
        with self._workers(base, head, self._inspections.setdefault(position, {})) as workers:
            if workers.broken and (workers.broken_side == "base" or ends):
                self._retry(workers.broken)
                return None
            found.broken = workers.broken
            if not workers.broken:
                self._failed_starts = 0
                self._visit_all(workers, found, what, plan(workers), known)
                self._watcher.step(f"{what}: ending the processes")
        if ends:
            workers.check_trees(base, head)
        simulated = workers.processes.fake_seconds
        self._fake_seconds = simulated or self._fake_seconds
        timed = sum(one.seconds for one in found.visits.values()) if simulated is None else 0.0
        found.start_seconds = RealTime.seconds() - begin - timed - found.settled_seconds
        return found

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
            self._setting.arguments,
            folder=self._setting.folder,
            logs=self._logs,
            rng=self._rng,
            timeout_seconds=self._setting.timeout_seconds,
            number=self._number,
            fake_seconds=self._fake_seconds,
        )
        return Workers(processes, self._rng, self._sizes, inspections, time_all=True)

    def _retry(self, broken: str) -> None:
        """Say that both sides are started again.

        Raises:
            UsageError: they have failed to start too often.
        """
        self._failed_starts += 1
        if self._failed_starts >= _STARTS:
            raise UsageError(broken)
        self._watcher.say(f"{broken}; restarting both sides")

    def _visit_all(self, workers: Workers, found: Measured, what: str, planned: Plan, known: Known) -> None:
        begin = RealTime.seconds()
        for number, (name, seconds) in enumerate(planned.seconds.items(), 1):
            if number > 1 and self._elapsed(workers.processes, begin) > planned.at_most_seconds:
                break
            of = f"benchmark {number} of {len(planned.seconds)}"
            self._watcher.step(f"{what}: inspecting {of}: {name}")
            visited = RealTime.seconds()
            one: Visit | NotTimed | None = self._inspected(workers, found, name, known)
            if one is None:
                self._watcher.step(f"{what}: timing {of} for {seconds:.1f} s: {name}")
                one = workers.visit(name, seconds)
            once = name in self._blind and name in found.seen
            if isinstance(one, Visit):
                found.visits[name] = one
            elif not once:  # else its single round was inspected: fresh processes time it
                found.failures[name] = one
                if one.kind != "failed":
                    found.settled_seconds += RealTime.seconds() - visited
            if workers.broken:
                self._watcher.say(f"{name}: {workers.broken}; restarting both sides")
                break

    def _inspected(self, workers: Workers, found: Measured, name: str, known: Known) -> NotTimed | None:
        """Inspect a benchmark in the first pair of a candidate; return why it is not timed; None: it is."""
        inspections = self._inspections[found.position]
        if name in inspections or name in self._blind:
            return None
        one = workers.inspect(name, _SEED)
        if isinstance(one, NotTimed):
            return one
        inspections[name] = one
        sides = found.seen[name] = Seen.of(one.sides[0]), Seen.of(one.sides[1])
        if one.work.no_fingerprint:
            self._blind.add(name)
        if one.same_code:
            return NotTimed("same code", "runs the same code")
        if known(name, found.position, sides[1]):
            return NotTimed("same code", "runs the same code as another candidate")
        return None

    def _elapsed(self, processes: Processes, begin: float) -> float:
        """Return the seconds of a pair's visits so far, those of a simulated machine included."""
        simulated = max((processes.fake_seconds or 0.0) - self._fake_seconds, 0.0)
        return RealTime.seconds() - begin + simulated
