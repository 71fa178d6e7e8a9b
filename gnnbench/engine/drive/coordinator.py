"""Runs pairs of processes until all benchmarks are decided or the budget is spent."""

import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from ..ground import environment, units
from ..ground.cpu import ContentionWatch, RealTime
from ..ground.shard import Shard
from ..judge.allowed import Allowed
from ..judge.comparison import Agreement, Compared, Comparison
from ..judge.control import Control, control, withheld
from ..judge.schedule import SAME_CODE as UNTIMED
from ..judge.schedule import Decision, Plan, Schedule
from ..judge.verdict import Judgement, Thresholds
from ..judge.visit import Inspections, NotTimed, Pair, Visit, sample
from ..process.pairs import NotStartedError, Pairs, Watcher
from ..process.processes import Setting, Terms
from ..process.returned import HEAD_RAISES
from ..process.turns import SAME_CODE
from ..process.variants import outcome, variant
from ..process.variants.collected import Suite, unmatched
from ..process.variants.prepare import Prepared
from ..store import left_out
from .alone import confirmed
from .inspecting import Inspecting
from .repeat import Repeat, ends_of
from .result import Result, Side
from .settle import allowed


@dataclass(frozen=True, kw_only=True)
class TimedSetting(Setting):
    """How benchmarks are timed, for how long, and how they are judged."""

    thresholds: Thresholds
    per_benchmark_seconds: float
    """Average time of a benchmark."""
    total_seconds: float | None = None
    """Limit of the time of all together; None: there is none."""
    total_option: str = "--total-budget"
    """The option that sets `total_seconds`, for messages."""
    shard: Shard | None = None
    """The part of the benchmarks to time, to which the thresholds apply; None: all."""
    only: Sequence[str] | None = None
    """Ids of the benchmarks to time, the most important first; None: all."""
    options: tuple[str, ...] = ()
    """Options of `gnnbench ab` that a command which compares again must have too."""


class Judging:
    """The verdicts on benchmarks so far, those that need no timing included.

    Args:
        added_work: by benchmark, how much more one side does; see `Inspections.added_work`. Those to which
            most was added are likely slower.
    """

    def __init__(
        self,
        names: Sequence[str],
        setting: TimedSetting,
        total_seconds: float | None,
        limits: Mapping[str, Allowed] | None = None,
        added_work: Mapping[str, float] | None = None,
    ) -> None:
        added = added_work or {}
        most = max(added.values(), default=0.0)
        self.schedule = Schedule(
            sorted(names, key=lambda name: -added.get(name, 0.0)),
            setting.thresholds,
            setting.per_benchmark_seconds,
            total_seconds,
            np.random.default_rng(setting.seed),
            setting.total_option,
            limits,
            [name for name, more in added.items() if more >= max(most / 2, setting.thresholds.effect)],
        )
        self.head_logs: dict[str, list[float]] = defaultdict(list)
        """By benchmark that was timed, the log of the newer side's time in each pair."""
        self._skipped: list[str] = []
        """Why both sides skip benchmarks."""
        self._untimed: dict[str, Decision] = {}
        self._names, self._settled = list(names), set[str]()

    def take(self, name: str, found: Visit | NotTimed) -> bool:
        """Take the result of a visit; return whether the benchmark needs no timing."""
        if isinstance(found, Visit):
            self.head_logs[name].append(sample(found).head)
            return False
        skipped = found.kind == "skipped" and name not in self.head_logs
        if found.kind in ("incomparable", "head fails"):
            judgement, head_fails = Judgement("incomparable", found.text), found.kind == "head fails"
            self._untimed[name] = replace(UNTIMED, judgement=judgement, head_fails=head_fails)
        elif not skipped and found.kind != "same code":
            return False
        self._settled.add(name)
        self.schedule.leave_out(name)
        if skipped:
            self._skipped.append(found.text)
            self._names.remove(name)
        return True

    def take_all(self, pair: Pair) -> None:
        """Take the results of a pair of an earlier run."""
        for name, visit in pair.visits.items():
            self.take(name, visit)
        for name, why in pair.failures.items():
            self.take(name, why)

    def add(self, pair: Pair) -> None:
        """Add a pair, whose results were taken."""
        failures = {name: why for name, why in pair.failures.items() if name not in self._settled}
        self.schedule.add(replace(pair, failures=failures))

    def decisions(self) -> dict[str, Decision]:
        """Return the state of each benchmark, without those that both sides skip."""
        known = self._untimed | self.schedule.decisions()
        return {name: known.get(name, UNTIMED) for name in self._names}

    def notes(self) -> list[str]:
        """Return a note on benchmarks that both sides skip, if there are any."""
        return outcome.skips(self._skipped, outcome.BOTH_SKIP)


def run(base: Prepared, head: Prepared, setting: TimedSetting, watcher: Watcher) -> Result:
    """Time two variants in turns, in as many pairs of fresh processes as needed.

    After an interruption, the result has what is known so far.
    """
    start, watch = RealTime.seconds(), ContentionWatch()
    interrupted = False
    with Pairs(setting, watcher) as pairs:
        pairs.shared.end_seconds = start + (setting.total_seconds or math.inf)
        session = _Session(Terms(base, head), setting, watcher, pairs)
        try:
            session.inspect()
            while session.pair():
                pass
        except KeyboardInterrupt:
            interrupted = True
    return Result(
        "ab",
        Side.of(base),
        Side.of(head),
        Comparison(withheld(session.rows(), session.control)),
        setting.thresholds,
        asdict(environment.collect(setting.folder)),
        RealTime.seconds() - start,
        None if pairs.shared.simulated else round(watch.contention_share(), 4),
        interrupted,
        str(setting.shard) if setting.shard else None,
        (*session.notes, *session.judging.notes(), *left_out.several(pairs.shared.several)),
        session.repeat(),
        session.judging.schedule.needed_seconds,
        control=session.control,
    )


@dataclass(frozen=True)
class Planned:
    """What a run would do, as far as it is known without a process."""

    known: int
    """Number of benchmarks that run the same code."""
    left: Sequence[str]
    """The others, which would be inspected; empty, with no known ones: the benchmarks are unknown, too."""
    why: Sequence[str]
    """Lines on why they would be."""
    seconds: float | None
    """How long their inspection took last time; None: it is not known."""


def planned(base: Prepared, head: Prepared, setting: TimedSetting, watcher: Watcher) -> Planned:
    """Return what `run` would inspect, see there."""
    with Pairs(setting, watcher) as pairs:
        session = _Session(Terms(base, head), setting, watcher, pairs)
        inspecting = session.inspecting()
        found = inspecting.take_known()
    left = [name for name in inspecting.names if name not in inspecting.found]
    return Planned(inspecting.known, left, found.why, found.seconds)


class _Session:
    """The state of a run between its pairs."""

    def __init__(self, terms: Terms, setting: TimedSetting, watcher: Watcher, pairs: Pairs) -> None:
        self._terms, self._setting, self._watcher, self._pairs = terms, setting, watcher, pairs
        self.judging = Judging((), setting, None)
        """Of no benchmarks, until they are inspected."""
        self.notes: list[str] = []
        self._suite = Suite()
        self._visits = 0
        self._controls: list[Visit] = []
        self._rng = random.Random(setting.seed)  # noqa: S311 - turns, not secrets

    def inspect(self) -> None:
        """Inspect the benchmarks, for at most a half of the time; then it is known which must be timed."""
        setting, start = self._setting, RealTime.seconds()
        inspecting = self.inspecting()
        try:
            inspecting.run((setting.total_seconds or math.inf) / 2)
        finally:
            if inspecting.suite.names:
                self._begin(inspecting, start)

    def inspecting(self) -> Inspecting:
        """Return what inspects the benchmarks of the run."""
        return Inspecting(self._pairs, self._terms, self._watcher, self._chosen)

    def _begin(self, inspecting: Inspecting, start: float) -> None:
        """Take what was inspected since a time."""
        setting, suite, names = self._setting, inspecting.suite, inspecting.names
        self._suite = suite
        self.notes += [*suite.notes(all_named=setting.only is not None), *inspecting.notes()]
        if setting.shard:
            whole = units.count(len(suite.benchmarks), "benchmark")
            self.notes.append(f"shard {setting.shard}: {len(names)} of {whole}")
        if setting.only is None and suite.folders is not None:
            self.notes += unmatched(setting.thresholds.rules, suite.declared, suite.folders)
        limits = allowed(setting.thresholds.accepted, self._terms.base, self._terms.head)
        found = inspecting.found.items()
        added = {name: one.added_work for name, one in found if isinstance(one, Inspections)}
        self.judging = Judging(names, setting, setting.total_seconds, limits, added)
        for name, one in found:
            if isinstance(one, NotTimed):
                self.judging.take(name, one)
            elif one.same_code and not setting.time_all:
                self.judging.take(name, SAME_CODE)
        self.judging.schedule.spend(RealTime.seconds() - start)
        self._update()

    def _chosen(self, suite: Suite) -> Sequence[str]:
        names, only, shard = suite.chosen(), self._setting.only, self._setting.shard
        if only is not None:
            names = [name for name in only if name in names]
        return [name for name in names if shard.has(name)] if shard else names

    def pair(self) -> bool:
        """Run a pair of processes; return whether there is more to do."""
        plan = self.judging.schedule.next()
        if plan is None:
            return False
        try:
            _, found = self._pairs.measure(self._terms, lambda _: plan, self.judging.take)
        except NotStartedError as error:
            self.notes.append(f"ended early: {error}")
            return False
        start, logs = RealTime.seconds(), self.judging.head_logs
        alone = {name: why for name, why in found.failures.items() if name not in logs}
        for name, why in confirmed(self._terms, self._pairs.shared, self._watcher, alone).items():
            self.judging.take(name, why)
        self.judging.add(found)
        self._control(plan, found.visits)
        self.judging.schedule.spend(RealTime.seconds() - start)
        if line := self.judging.schedule.forecast():
            self._watcher.say(line)
        self._update()
        return True

    def _control(self, plan: Plan, visits: Mapping[str, Visit]) -> None:
        """Time the base of a benchmark against itself, as often as the square root of the visits so far."""
        self._visits += len(visits)
        if not visits or len(self._controls) + 1 >= math.sqrt(self._visits):
            return
        name = self._rng.choice(list(visits))
        visit = self._pairs.control(self._terms, name, plan.seconds[name], plan.longest_seconds)
        if visit:
            self._controls.append(visit)

    @property
    def control(self) -> Control | None:
        """What the base is against itself. None if too few visits were controls."""
        return control(self._controls)

    def _update(self) -> None:
        schedule = self.judging.schedule
        self._watcher.update(self.judging.decisions(), schedule.spent_seconds, schedule.left_seconds)

    def rows(self) -> list[Compared]:
        """Return the benchmarks with the verdicts that were measured."""
        rows = []
        for name, decision in self.judging.decisions().items():
            inspected = self._terms.inspections.get(name, Inspections())
            logs, results = self.judging.head_logs.get(name), inspected.results
            told = results and results.is_other and not results.reason.startswith(HEAD_RAISES)
            if decision.head_fails and not told:
                results = Agreement("differ", decision.judgement.reason)
            rows.append(
                Compared(
                    name,
                    decision.judgement,
                    math.exp(np.median(logs)) / 1e9 if logs else None,
                    notes=(*inspected.work.notes(), *inspected.notes),
                    work=inspected.work,
                    memory=inspected.memory,
                    results=results,
                    counts=replace(decision.counts, seconds=round(decision.counts.seconds, 3)),
                )
            )
        return rows

    def repeat(self) -> Repeat:
        """Return what commands need that time the benchmarks again."""
        base, head = self._terms.base, self._terms.head
        ends = ends_of(variant.parse(base.text), variant.parse(head.text), clean=not head.dirty)
        words = tuple(word for word in self._setting.arguments if word not in self._suite.places)
        places, rootdir = self._suite.places, self._suite.rootdir
        return Repeat(base.text, head.text, ends, self._setting.options, words, places, rootdir)
