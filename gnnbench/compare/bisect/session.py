"""A bisection: first the ends, then the candidates between them, until all changes are found."""

from collections.abc import Callable, Mapping
from functools import partial

from ... import units
from ...errors import UsageError
from ..ab.coordinator import Watcher
from ..ab.pair import NO_DEFAULT, Workers
from ..ab.schedule import Decision, Plan
from .followed import Ends, Followed
from .journal import Journal
from .line import Line
from .measured import Measured
from .pairs import Pairs, Setting
from .result import Bisected, Finding
from .search import MOST_PAIRS, next_position

_BASE_FAILURES = 3
"""The run ends if a benchmark fails so often in candidate 0, which ran it before."""


class Session:
    """One bisection.

    Args:
        line: the candidates.
        pairs: runs pairs of processes.
        journal: the pairs of an earlier run, to which this one adds.
        setting: thresholds, and limits of time.
        watcher: receives the progress.
    """

    def __init__(
        self, line: Line, pairs: Pairs, journal: Journal, setting: Setting, watcher: Watcher
    ) -> None:
        self._line, self._pairs, self._journal = line, pairs, journal
        self._setting, self._watcher = setting, watcher
        self._followed = Followed(line, setting.thresholds)
        self._ends: Ends | None = None
        self._base_failures = 0
        self._spent_seconds = 0.0

    def run(self) -> Bisected:
        """Bisect; after an interruption, or when the time is used up, return what is known so far.

        Raises:
            UsageError: there is nothing to time, or an end cannot run it.
        """
        unfinished = None
        try:
            self._replay()
            while measure := self._next():
                if not self._left_seconds:
                    unfinished = "the time is used up"
                    break
                if found := measure():
                    self._keep(found)
        except KeyboardInterrupt:
            unfinished = "interrupted"
        notes = [*self._line.notes, *self._journal.notes]
        if self._ends and self._ends.skipped:
            left_out = units.count(self._ends.skipped, "benchmark")
            notes.append(f"skipped on both sides, and left out: {left_out}")
        return Bisected(
            self._line,
            self._decisions(),
            tuple(self._findings(inspected=unfinished != "interrupted")),
            {self._line.candidates[at].name: why for at, why in sorted(self._followed.reasons.items())},
            len(self._journal.measured),
            self._spent_seconds,
            unfinished,
            tuple(notes),
        )

    def _replay(self) -> None:
        """Take the pairs of an earlier run."""
        done = self._journal.measured
        if done:
            self._watcher.say(f"continuing after {units.count(len(done), 'pair')} of an earlier run")
        for one in done:
            if one.ends:
                self._plan_ends()
            elif not self._followed.searches:
                self._followed.begin(self._decisions())
            self._take(one)

    def _plan_ends(self) -> Plan | None:
        """Return what to time next in the ends; None: all is decided, or the time is spent."""
        if self._ends is None:
            budget = self._setting.per_benchmark_seconds
            self._ends = Ends(self._journal.names, self._setting.thresholds, budget, self._journal.seed)
        return self._ends.schedule.next()

    def _next(self) -> Callable[[], Measured | None] | None:
        """Return what to do next, which returns a pair, or None to try again; None: all is found."""
        if not self._followed.searches:
            plan = self._plan_ends() if self._ends else None
            if plan or not self._ends:
                return partial(self._measure_ends, plan)
            self._followed.begin(self._decisions())
        chosen = next_position(self._followed.searches)
        return partial(self._measure, *chosen) if chosen else None

    def _measure_ends(self, plan: Plan | None) -> Measured | None:
        """Compare the bad end with the good one, as planned; the first pair shows what there is."""
        return self._pairs.measure(
            self._line.last,
            "the ends",
            lambda workers: plan or self._collected(workers),
            self._followed.known,
            ends=True,
        )

    def _collected(self, workers: Workers) -> Plan:
        """Take the names of the benchmarks, and plan the first pair."""
        refused, choice, names = workers.refusals(), workers.choice(), workers.benchmarks
        if not names:
            raise UsageError(NO_DEFAULT if choice else workers.no_benchmarks())
        self._journal.names, self._journal.notes = names, [*workers.notes, *refused, *choice]
        plan = self._plan_ends()
        assert plan
        return plan

    def _measure(self, position: int, names: list[str]) -> Measured | None:
        """Measure a candidate."""
        self._watcher.update({}, self._spent_seconds, 0.0)  # which only knows the ends' time
        usual_seconds = self._spent_seconds / max(len(self._journal.measured), 1)
        at_most_seconds = min(self._left_seconds, self._followed.left * MOST_PAIRS * usual_seconds)
        left, at_most = units.count(self._followed.left, "candidate"), units.duration(at_most_seconds)
        what = f"{left} left, at most {at_most}: {self._line.candidates[position].name}"
        plan = Plan(self._followed.seconds(names))
        return self._pairs.measure(position, what, lambda _: plan, self._followed.known)

    def _keep(self, one: Measured) -> None:
        """Save a pair, and take it."""
        self._journal.add(one)
        self._take(one)
        if one.ends and self._ends:
            left_seconds = min(self._ends.schedule.left_seconds, self._left_seconds)
            self._watcher.update(self._decisions(), self._spent_seconds, left_seconds)
            return
        for name, failure in one.failures.items():
            if "base" in failure.sides:
                self._base_failures += 1
                if self._base_failures == _BASE_FAILURES:
                    raise UsageError(
                        f"{name} fails in the good end now ({failure.text}); the same command continues"
                    )

    def _take(self, one: Measured) -> None:
        self._spent_seconds += one.seconds
        if one.ends and self._ends:
            self._ends.add(one)
        self._followed.add(one)

    def _decisions(self) -> Mapping[str, Decision]:
        return self._ends.decisions() if self._ends else {}

    def _findings(self, *, inspected: bool) -> list[Finding]:
        """Return where benchmarks changed; `inspected`: with what differs between the two candidates."""
        found = self._followed.changes()
        if found and inspected:
            self._watcher.step(f"inspecting what {units.count(len(found), 'change')} changed")
        return [
            Finding(
                self._line.candidates[low],
                self._line.candidates[high],
                tuple(self._line.causes(low, high)),
                changes,
                self._pairs.compare(low, high, list(changes)) if inspected else {},
            )
            for (low, high), changes in found.items()
        ]

    @property
    def _left_seconds(self) -> float:
        return max(self._setting.total_seconds - self._spent_seconds, 0.0)
