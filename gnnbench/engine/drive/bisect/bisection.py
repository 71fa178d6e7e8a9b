"""A bisection: first the ends, then the candidates between them, until all changes are found."""

from collections.abc import Callable, Sequence
from functools import partial

from ...ground import units
from ...ground.cpu import RealTime
from ...ground.errors import UsageError
from ...judge.schedule import Plan
from ...judge.search import MOST_PAIRS, next_position
from ...judge.visit import Inspections
from ...process.pairs import Pairs, Watcher, Workers
from ...process.processes import Terms
from ...process.variants.child import SIDES
from ...process.variants.command import UnbuildableError
from ..coordinator import Judging
from .followed import Followed, Measured, Seen
from .journal import BisectSetting, Journal
from .line import Line, Ready
from .result import INTERRUPTED, Bisected, Finding

_BASE_FAILURES = 3
"""The run ends if a benchmark fails so often in candidate 0, which ran it before."""


class Bisection:
    """One bisection."""

    def __init__(
        self,
        line: Line,
        ready: Ready,
        pairs: Pairs,
        journal: Journal,
        setting: BisectSetting,
        watcher: Watcher,
    ) -> None:
        self._line, self._ready, self._pairs, self._journal = line, ready, pairs, journal
        self._setting, self._watcher = setting, watcher
        self._followed = Followed(line, setting.thresholds)
        self._ends = Judging(journal.names, setting, None)
        """Of no benchmarks, until they are collected."""
        self._inspections: dict[int, dict[str, Inspections]] = {}
        """By candidate and benchmark."""
        self._base_failures = 0
        self._spent_seconds = 0.0

    def run(self) -> Bisected:
        """Bisect; after an interruption, or when the time is used up, return what is known so far."""
        unfinished = None
        try:
            self._replay()
            while measure := self._next():
                if not self._left_seconds:
                    unfinished = "the time is used up"
                    break
                self._keep(measure())
        except KeyboardInterrupt:
            unfinished = INTERRUPTED
        notes = [*self._line.notes, *self._journal.notes, *self._ends.notes()]
        return Bisected(
            self._line,
            self._ends.decisions(),
            tuple(self._findings(inspected=unfinished != INTERRUPTED)),
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
                self._ends.schedule.next()
                self._ends.take_all(one)
            elif not self._followed.searches:
                self._followed.begin(self._ends.decisions())
            self._take(one)

    def _next(self) -> Callable[[], Measured] | None:
        """Return what to do next; None: all is found."""
        if not self._followed.searches:
            plan = self._ends.schedule.next()
            if plan or not self._journal.names:
                return partial(self._measure_ends, plan)
            self._followed.begin(self._ends.decisions())
        chosen = next_position(self._followed.searches)
        return partial(self._measure_within, *chosen) if chosen else None

    def _measure_ends(self, plan: Plan | None) -> Measured:
        """Compare the bad end with the good one, as planned; the first pair shows what there is."""
        return self._measure(
            self._line.last, "the ends", lambda workers: plan or self._collected(workers), ends=True
        )

    def _collected(self, workers: Workers) -> Plan | None:
        """Take the names of the benchmarks, and plan the first pair."""
        self._journal.names, self._journal.notes = workers.suite.chosen(), workers.suite.notes()
        self._ends = Judging(self._journal.names, self._setting, None)
        return self._ends.schedule.next()

    def _measure_within(self, position: int, names: list[str]) -> Measured:
        """Measure a candidate between the ends."""
        self._watcher.update({}, self._spent_seconds, 0.0)  # which only knows the ends' time
        usual_seconds = self._spent_seconds / max(len(self._journal.measured), 1)
        at_most_seconds = min(self._left_seconds, self._followed.left * MOST_PAIRS * usual_seconds)
        left, at_most = units.count(self._followed.left, "candidate"), units.duration(at_most_seconds)
        what = f"{left} left, at most {at_most}: {self._line.candidates[position].name}"
        plan = Plan(self._followed.seconds(names))
        return self._measure(position, what, lambda _: plan)

    def _measure(
        self, position: int, what: str, plan: Callable[[Workers], Plan | None], *, ends: bool = False
    ) -> Measured:
        """Time benchmarks of a candidate beside candidate 0."""
        begin = RealTime.seconds()
        base = self._ready.get(0)
        try:
            head = self._ready.get(position)
        except UnbuildableError as error:
            if ends:
                raise
            return Measured(RealTime.seconds() - begin, position=position, broken=str(error))
        self._ready.forget((0, position))
        seconds = RealTime.seconds() - begin
        inspections = self._inspections.setdefault(position, {})
        before = set(inspections)
        terms = Terms(
            base,
            head,
            inspections,
            partial(self._followed.known, position),
            about=f"{what}: ",
            spared=() if ends else ("head",),
        )
        workers, found = self._pairs.measure(
            terms,
            plan,
            lambda name, found: ends and self._ends.take(name, found),
        )
        return Measured(
            seconds + found.start_seconds,
            found.visits,
            found.failures,
            found.settled_seconds,
            position,
            ends,
            None if workers.suite.names else workers.broken,
            {
                name: (Seen.of(one.sides[0]), Seen.of(one.sides[1]))
                for name, one in inspections.items()
                if name not in before
            },
        )

    def _keep(self, one: Measured) -> None:
        failing = {name: why for name, why in one.failures.items() if why.kind != "skipped"}
        is_all = len(one.failures) == len(self._journal.names) and not self._journal.measured
        if is_all and failing and all(SIDES[0] in why.sides for why in failing.values()):
            name, why = next(iter(failing.items()))
            good = self._line.candidates[0].name
            raise UsageError(
                f"the good end ({good}) cannot run {name}: {why.text}; give one that can as GOOD"
            )
        self._journal.add(one)
        self._take(one)
        if one.ends:
            left_seconds = min(self._ends.schedule.left_seconds, self._left_seconds)
            self._watcher.update(self._ends.decisions(), self._spent_seconds, left_seconds)
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
        if one.ends:
            self._ends.add(one)
        self._followed.add(one)

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
                self._inspected(low, high, list(changes)) if inspected else {},
            )
            for (low, high), changes in found.items()
        ]

    def _inspected(self, low: int, high: int, names: Sequence[str]) -> dict[str, Inspections]:
        """Inspect benchmarks in two candidates; those that cannot be inspected are left out."""
        found: dict[str, Inspections] = {}
        terms = Terms(self._ready.get(low), self._ready.get(high), spared=SIDES, untimed=True)
        with self._pairs.started(terms) as workers:
            for name in names:
                if workers.broken:
                    break
                one = workers.inspect(name)
                if isinstance(one, Inspections):
                    found[name] = one
        return found

    @property
    def _left_seconds(self) -> float:
        return max(self._setting.total_seconds - self._spent_seconds, 0.0)
