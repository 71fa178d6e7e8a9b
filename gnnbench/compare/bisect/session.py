"""A bisection: first the ends, then the candidates between them, until all changes are found."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from ... import units
from ...errors import UsageError
from ..ab.inspections import Inspections
from ..ab.pair import NO_DEFAULT, Workers
from ..ab.schedule import Decision, Plan
from ..verdict import Thresholds
from .ends import Ends
from .followed import Followed, Span
from .journal import Journal
from .line import Line
from .measured import Measured, Seen
from .pairs import Pairs
from .pairs import Watcher as PairWatcher
from .search import MOST_PAIRS

_BASE_FAILURES = 3
"""The run ends if a benchmark fails so often in candidate 0, which ran it before."""


class Watcher(PairWatcher, Protocol):
    """Receives the progress."""

    def update(self, decisions: Mapping[str, Decision], spent_seconds: float, left_seconds: float) -> None:
        """Receive the state of each benchmark at the ends."""


@dataclass(frozen=True)
class Limits:
    """What a bisection may take."""

    per_benchmark_seconds: float
    """For the ends, divided by the number of benchmarks."""
    total_seconds: float
    """For everything together."""


@dataclass(frozen=True)
class Bisected:
    """What was found on one line."""

    line: Line
    decisions: Mapping[str, Decision]
    """The verdicts on the ends, by benchmark, in the order of collection."""
    spans: Mapping[str, Sequence[Span]]
    """The changes of each benchmark that differs between the ends, the largest first."""
    compared: Mapping[tuple[int, int], Mapping[str, Inspections]]
    """What differs between the two candidates of a span, by benchmark."""
    unmeasured: Mapping[int, str]
    """Candidates at which a benchmark or all could not be measured, and why."""
    pairs: int
    """Number of pairs of processes."""
    seconds: float
    unfinished: str | None = None
    """Why the search ended early; None: it did not."""
    notes: tuple[str, ...] = ()


_Seconds = tuple[Mapping[str, float], float]


def _unknown(_name: str, _position: int, _seen: Seen) -> bool:
    return False


def _at_once(seconds: _Seconds, _workers: Workers) -> _Seconds:
    return seconds


class _OutOfTimeError(Exception):
    """The time is used up."""


class Session:
    """One bisection.

    Args:
        line: the candidates.
        pairs: runs pairs of processes.
        journal: the pairs of an earlier run, to which this one adds.
        thresholds: levels, and the minimum effect of interest.
        limits: of time.
        watcher: receives the progress.
    """

    def __init__(
        self,
        line: Line,
        pairs: Pairs,
        journal: Journal,
        thresholds: Thresholds,
        limits: Limits,
        watcher: Watcher,
    ) -> None:
        self._line, self._pairs, self._journal = line, pairs, journal
        self._thresholds, self._limits, self._watcher = thresholds, limits, watcher
        self._followed = Followed(line.last, thresholds, line.skipped)
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
            self._measure_ends()
            self._search()
        except KeyboardInterrupt:
            unfinished = "interrupted"
        except _OutOfTimeError:
            unfinished = "the time is used up"
        spans = self._followed.spans()
        compared = {} if unfinished == "interrupted" else self._compared(spans)
        notes = [*self._line.notes, *self._journal.notes]
        if self._ends and self._ends.skipped:
            left_out = units.count(self._ends.skipped, "benchmark")
            notes.append(f"skipped on both sides, and left out: {left_out}")
        return Bisected(
            self._line,
            self._decisions(),
            spans,
            compared,
            self._followed.reasons,
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
            self._begin(self._journal.names).next()
        for number, one in enumerate(done):
            if not one.ends and not self._followed.searches:
                self._followed.begin(self._decisions())
            self._take(one)
            following = done[number + 1 : number + 2]
            if self._ends and following and following[0].ends:
                self._ends.next()

    def _begin(self, names: Sequence[str]) -> Ends:
        budget = self._limits.per_benchmark_seconds
        self._ends = Ends(names, self._thresholds, budget, self._journal.seed)
        return self._ends

    def _measure_ends(self) -> None:
        """Compare the bad end with the good one, until each benchmark is decided or its budget is spent."""
        while not self._followed.searches:
            plan = self._ends.next() if self._ends else None
            if self._ends and plan is None:
                self._followed.begin(self._decisions())
                return
            self._check_time()
            begin = partial(self._planned, plan=plan)
            found = self._pairs.measure(self._line.last, "the ends", begin, _unknown, ends=True)
            if found:
                self._keep(found)
                assert self._ends
                left_seconds = min(self._ends.left_seconds, self._left_seconds)
                self._watcher.update(self._decisions(), self._spent_seconds, left_seconds)

    def _planned(self, workers: Workers, *, plan: Plan | None) -> _Seconds:
        """Return what to time in a pair of the ends; the first pair shows which benchmarks there are."""
        if plan is None:
            refused, choice, names = workers.refusals(), workers.choice(), workers.benchmarks
            if not names and choice:
                raise UsageError(NO_DEFAULT)
            if not names:
                raise UsageError(workers.no_benchmarks("gnnbench bisect GOOD BAD"))
            self._journal.names, self._journal.notes = names, [*workers.notes, *refused, *choice]
            plan = self._begin(names).next()
            assert plan
        return plan.seconds, plan.at_most_seconds

    def _search(self) -> None:
        """Measure candidates until all changes are found."""
        while chosen := self._followed.next():
            self._check_time()
            position, names = chosen
            at_most_seconds = min(self._left_seconds, self._followed.left * MOST_PAIRS * self._usual_seconds)
            self._watcher.update({}, self._spent_seconds, 0.0)  # which only knows the ends' time
            left, at_most = units.count(self._followed.left, "candidate"), units.duration(at_most_seconds)
            what = f"{left} left, at most {at_most}: {self._line.candidates[position].name}"
            seconds = self._followed.seconds(names), math.inf
            found = self._pairs.measure(position, what, partial(_at_once, seconds), self._followed.known)
            if found:
                self._keep(found)

    def _keep(self, one: Measured) -> None:
        """Save a pair, and take it."""
        self._journal.add(one)
        self._take(one)
        for name, failure in one.failures.items():
            if "base" in failure.sides and not one.ends:
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

    def _decisions(self) -> dict[str, Decision]:
        return self._ends.decisions() if self._ends else {}

    def _compared(
        self, spans: Mapping[str, Sequence[Span]]
    ) -> dict[tuple[int, int], Mapping[str, Inspections]]:
        """Inspect the benchmarks in the two candidates of each span."""
        places: dict[tuple[int, int], list[str]] = {}
        for name, found in spans.items():
            for one in found:
                places.setdefault((one.low, one.high), []).append(name)
        if places:
            self._watcher.step(f"inspecting what {units.count(len(places), 'change')} changed")
        return {place: self._pairs.compare(*place, names) for place, names in places.items()}

    @property
    def _left_seconds(self) -> float:
        return max(self._limits.total_seconds - self._spent_seconds, 0.0)

    @property
    def _usual_seconds(self) -> float:
        """Mean duration of a pair."""
        return self._spent_seconds / max(len(self._journal.measured), 1)

    def _check_time(self) -> None:
        if not self._left_seconds:
            raise _OutOfTimeError
