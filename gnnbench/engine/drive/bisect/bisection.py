"""A bisection: `ab` compares the ends of a history, then candidates between them are timed in pairs.

A history is a sequence of candidates, which are versions of the code, from the good end to the bad end.
"""

import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

from ...ground import codec, units
from ...ground.cpu import RealTime
from ...ground.errors import UsageError
from ...ground.files import above, save
from ...interfaces import Listener
from ...judge.comparison import Work
from ...judge.estimate import sample
from ...judge.evidence import USUAL_PAIR_VARIANCE
from ...judge.schedule import PairPlan
from ...judge.search import ERROR, Interval, Observation, Search, least_change, next_position
from ...judge.trial import Trial
from ...judge.visit import NOT_INSPECTED, Inspections, Visit
from ...process.pairs import Pairs
from ...process.plan import PairSettings, Plan
from ...process.unchanged.known import digest
from ...process.variants import prepare, variant
from ...process.variants.collected import SETTINGS
from ...process.variants.pip import not_usable
from ...process.variants.variant import Prepared
from .. import affected, coordinator
from ..result import Result
from ..settle import apply_excuses
from .history import History, Place

INTERRUPTED = "interrupted"
TIME_IS_USED_UP = "the time is used up"
_State = TypeVar("_State")


@dataclass(frozen=True)
class Change:
    """A change of a benchmark's time."""

    ratio: float
    """Time after the change / time before the change; `bounds` is its 99 % interval."""
    bounds: tuple[float, float]
    work: Work = field(default_factory=Work)


@dataclass(frozen=True)
class Finding(Place):
    """Two candidates between which times changed."""

    changes: Mapping[str, Change]
    """The changes by benchmark, the largest first."""
    command: str
    """The `gnnbench ab` command that compares the two candidates again."""


@dataclass(frozen=True)
class Bisected:
    """The result of a bisection."""

    ends: Result
    """The comparison of the good end with the bad end."""
    findings: tuple[Finding, ...]
    """The largest change first."""
    unmeasured: Mapping[str, str]
    """Why candidates could not be measured, by name of the candidate."""
    candidates: int
    """Number of candidates, without the good end."""
    pairs: int
    """Number of pairs of processes that timed benchmarks."""
    seconds: float
    unfinished: str | None = None
    """Why the search ended early. None if it was completed."""
    notes: tuple[str, ...] = ()
    version: int = 1

    @property
    def verdicts(self) -> Counter[str]:
        """Number of benchmarks with each verdict in the comparison of the ends."""
        return Counter(row.judgement.verdict for row in self.ends.rows)


@dataclass(frozen=True)
class Measured:
    """What one step of the search found out about a candidate. The keys of mappings are benchmarks."""

    position: int
    """The candidate's position in the history."""
    broken: str | None = None
    """Why no benchmark can be measured at this candidate. None if any can be measured."""
    same: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """This candidate and one at which the benchmark runs the same code: their positions, the lower first."""
    ratios: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Logarithm of time at this candidate / time at the good end, and the variance of its noise."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Why the benchmark could not be measured."""


@dataclass
class Saved:
    """The saved state of a bisection. If the bisection is interrupted, the same command continues from it."""

    ends: Result | None = None
    measured: list[Measured] = field(default_factory=list)


def preparer(history: History, plan: Plan, watcher: Listener, stack: ExitStack) -> Callable[[int], Prepared]:
    """Return a function that prepares the candidate at a position, and keeps it until the stack is closed."""
    variants = [variant.parse(candidate.variant) for candidate in history.candidates]
    assert plan.cache
    hidden = not_usable([candidate.requirements for candidate in variants])
    prepared = partial(prepare.prepared, cache=plan.cache, hidden=hidden)
    prepared = partial(prepared, dependencies=plan.dependencies, build=plan.build)
    return cache(lambda position: stack.enter_context(prepared(variants[position], plan.folder, watcher)))


def run(good: str, bad: str, plan: Plan, watcher: Listener, ends: Result | None = None) -> Bisected:
    """Find the versions between two variants at which the times of benchmarks changed.

    `ends`: the comparison of the two variants. If None, they are compared first.
    """
    history = History.between(good, bad, plan.folder)
    with ExitStack() as stack:
        return _Bisection(history, preparer(history, plan, watcher, stack), plan, watcher).run(ends)


def state_file(history: History, plan: Plan) -> Path:
    """Return the file of a bisection's state. Its name depends on all that measurements depend on."""
    assert plan.cache
    folder = plan.folder
    words = [folder / word.partition("::")[0] for word in plan.arguments]
    paths = [path for path in words if os.path.exists(path)]  # noqa: PTH110 - no error if it cannot be a path
    files = {parent / name for path in [folder, *paths] for parent in above(path) for name in SETTINGS}
    for path in paths:
        files.update(path.rglob("*.py") if path.is_dir() else path.parent.glob("*.py"))
    if not paths:  # pytest's setting `testpaths` names the suite
        files.update(path for path in folder.rglob("*test*.py") if "site-packages" not in path.parts)
    inputs = (
        [candidate.variant for candidate in history.candidates],
        [(file, file.read_bytes()) for file in sorted(files) if file.is_file()],
        (replace(plan, seed=0), digest(Prepared(""), plan.arguments, folder)),
    )
    return plan.cache / "bisect" / f"{hashlib.sha256(repr(inputs).encode()).hexdigest()[:24]}.json"


def saved_state(file: Path, kind: type[_State]) -> _State | None:
    """Return the state that an interrupted bisection has saved. None if it is missing or damaged."""
    with suppress(OSError, ValueError):
        return codec.decode(json.loads(file.read_bytes()), kind)
    return None


class _Bisection:
    """A bisection in progress. `ready` prepares the candidate at a position."""

    def __init__(
        self, history: History, ready: Callable[[int], Prepared], plan: Plan, watcher: Listener
    ) -> None:
        self._history, self._ready, self._plan, self._watcher = history, ready, plan, watcher
        self._begin = RealTime.seconds()
        self._searches: dict[str, Search] = {}  # of each benchmark that is slower or faster at the bad end
        self._trials: dict[str, Trial] = {}
        self._file = state_file(history, plan)
        self._saved = saved_state(self._file, Saved) or Saved()
        # What prevented a measurement may be gone, such as a full disk.
        self._saved.measured = [step for step in self._saved.measured if not step.broken]

    def run(self, ends: Result | None) -> Bisected:
        """Bisect. If the user interrupts the run or the time is used up, return the results so far."""
        ends = ends or self._compare_ends()
        try:
            unfinished = INTERRUPTED if ends.interrupted else self._search(ends)
            findings = self._findings(ends, inspected=True)
        except KeyboardInterrupt:
            unfinished, findings = INTERRUPTED, self._findings(ends, inspected=False)
        if not unfinished:
            self._file.unlink(missing_ok=True)
        unmeasured = {}
        for step in sorted(self._saved.measured, key=lambda entry: entry.position):
            if reason := step.broken or "; ".join(": ".join(pair) for pair in step.failures.items()):
                unmeasured[self._history.candidates[step.position].name] = reason
        pairs = max((row.counts.pairs for row in ends.rows if row.counts), default=0)
        return Bisected(
            ends,
            findings=tuple(findings),
            unmeasured=unmeasured,
            candidates=self._history.last,
            pairs=pairs + sum(bool(step.ratios) for step in self._saved.measured),
            seconds=RealTime.seconds() - self._begin,
            unfinished=unfinished,
            notes=ends.notes,
        )

    def _compare_ends(self) -> Result:
        """Compare the two ends, or return the comparison that an interrupted run has saved."""
        if self._saved.ends:
            done = units.count(len(self._saved.measured), "measurement")
            self._watcher.say(f"continuing an earlier run that compared GOOD and BAD, after {done}")
            return self._saved.ends
        good, bad = self._ready(0), self._ready(self._history.last)
        ends = apply_excuses(coordinator.run(good, bad, self._plan, self._watcher))
        if ends.rows and all(row.judgement.verdict == "incomparable" for row in ends.rows):
            name, reason = ends.rows[0].fullname, ends.rows[0].judgement.reason
            raise UsageError(f"GOOD and BAD cannot be compared: {name}: {reason}; give two that can run it")
        if not ends.interrupted:
            self._saved.ends = ends
            save(self._file, json.dumps(codec.encode(self._saved)))
        return ends

    def _search(self, ends: Result) -> str | None:
        """Search for changes of slower and faster benchmarks. Returns why it ended early, or None."""
        changed = [row for row in ends.rows if row.judgement.verdict in ("slower", "faster")]
        for row in changed:
            ratios = row.judgement.ratio, row.judgement.low, row.judgement.high
            log_ratio, low, high = (math.log(ratio or 1.0) for ratio in ratios)
            least = least_change(self._plan.thresholds.of(row.fullname).effect, log_ratio)
            search = Search(self._history.last, least, 1 if log_ratio > 0 else -1, ERROR / len(changed))
            # Half the width of a 99 % interval is 2.58 standard errors of a mean over four or more pairs.
            variance = max(4 * ((high - low) / 2 / 2.58) ** 2, USUAL_PAIR_VARIANCE)
            search.observations += 4 * [Observation(self._history.last, log_ratio, variance)]
            self._searches[row.fullname], self._trials[row.fullname] = search, Trial(row.fullname)
        for measurement in self._saved.measured:
            self._observe(measurement)
        # `time_all`, because `_measure` has already left out benchmarks that run the same code.
        with Pairs(replace(self._plan, time_all=True), self._watcher) as pairs:
            while position_and_names := next_position(self._searches):
                passed = RealTime.seconds() - self._begin
                if passed > self._plan.total_seconds:
                    return TIME_IS_USED_UP
                self._watcher.update({}, passed, self._plan.total_seconds - passed)
                measurement = self._measure(pairs, *position_and_names)
                self._saved.measured.append(measurement)
                save(self._file, json.dumps(codec.encode(self._saved)))
                self._observe(measurement)
        return None

    def _measure(self, pairs: Pairs, position: int, names: Sequence[str]) -> Measured:
        """Time benchmarks at a candidate, except those that run the same code at a measured neighbour."""
        same: dict[str, tuple[int, int]] = {}
        try:
            head = self._ready(position)
            measured = {step.position for step in self._saved.measured if not step.broken}
            measured |= {0, self._history.last}
            if position not in measured:
                below = max(other for other in measured if other < position)
                above = min(other for other in measured if other > position)
                for low, high in ((below, position), (position, above)):
                    rows = self._inspect(low, high, [name for name in names if name not in same])
                    same |= {name: (low, high) for name, row in rows.items() if row.same_code}
        except UsageError as error:  # the candidate cannot be built, or does not start
            return Measured(position, broken=str(error))
        pair_plan = PairPlan({name: 1.0 for name in names if name not in same})
        if not pair_plan.seconds:
            return Measured(position, same=same)
        about = f"{self._history.candidates[position].name}: "
        settings = PairSettings(self._ready(0), head, about=about, spared=("head",))
        for name in pair_plan.seconds:
            self._trials[name].inspections = NOT_INSPECTED  # of another candidate
        pair, times = pairs.measure(settings, self._trials, pair_plan)
        for name, row in times.failures.items():
            if "base" in row.sides:
                raise UsageError(f"{name} now fails in GOOD ({row.text}); repeat the command to continue")
        broken = None if times.visits or times.failures else pair.broken
        ratios = {name: _log_ratio(visit) for name, visit in times.visits.items()}
        failures = {name: row.text for name, row in times.failures.items()}
        return Measured(position, broken, same, ratios, failures)

    def _inspect(self, low: int, high: int, names: Sequence[str]) -> Mapping[str, Inspections]:
        """Compare one call of each benchmark at two candidates, without timing."""
        if not names:
            return {}
        plan = replace(self._plan, only=names)
        return affected.run(self._ready(low), self._ready(high), plan, self._watcher).benchmarks

    def _observe(self, measurement: Measured) -> None:
        for name, search in self._searches.items():
            if measurement.broken or name in measurement.failures:
                search.broken.add(measurement.position)
            if name in measurement.same:
                search.same.append(measurement.same[name])
            if name in measurement.ratios:
                log_ratio, variance = measurement.ratios[name]
                search.observations.append(Observation(measurement.position, log_ratio, variance))

    def _findings(self, ends: Result, *, inspected: bool) -> list[Finding]:
        """Return where benchmarks changed. `inspected`: whether to compare the code around each change."""
        changes = {name: search.changes() or [_likely(search)] for name, search in self._searches.items()}
        pairs = [(interval, name) for name, intervals in changes.items() for interval in intervals]
        spans: dict[tuple[int, int], dict[str, Interval]] = {}
        for interval, name in sorted(pairs, key=lambda pair: -abs(pair[0].log_ratio)):
            spans.setdefault((interval.low, interval.high), {})[name] = interval
        findings = []
        for (low, high), intervals in spans.items():
            place, inspections = self._history.place(low, high), dict[str, Inspections]()
            with suppress(UsageError):  # a candidate no longer starts
                inspections |= self._inspect(low, high, [*intervals] if inspected else [])
            by_name = {}
            for name, interval in intervals.items():
                ratio, lower, upper = map(math.exp, (interval.log_ratio, *interval.bounds))
                by_name[name] = Change(ratio, (lower, upper), inspections.get(name, Inspections()).work)
            assert ends.repeat
            repeat = replace(ends.repeat, base=place.before.variant, head=place.after.variant)
            command = repeat.commands([*intervals]).ab
            findings.append(Finding(place.before, place.after, place.causes, by_name, command))
        return findings


def _likely(search: Search) -> Interval:
    """Return an interval that spans all intervals which may contain the change. None of them is certain."""
    intervals = [row for row in search.intervals if row.changed > search.error] or search.intervals
    likely = max(intervals, key=lambda interval: interval.changed)
    bounds = min(row.bounds[0] for row in intervals), max(row.bounds[1] for row in intervals)
    return replace(likely, low=intervals[0].low, high=intervals[-1].high, bounds=bounds)


def _log_ratio(visit: Visit) -> tuple[float, float]:
    """Return the less noisy of the two log ratios that `sample` estimates, and its variance."""
    row = sample(visit)
    noise, log_ratio = min((row.location_noise, row.head - row.base), (row.turns_noise, row.turns))
    return log_ratio, USUAL_PAIR_VARIANCE + (noise if math.isfinite(noise) else USUAL_PAIR_VARIANCE)
