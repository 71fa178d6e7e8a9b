"""Runs pairs of processes until all benchmarks are decided or the budget is spent."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..ground import environment, units
from ..ground.cpu import ContentionWatch, RealTime
from ..interfaces import Listener
from ..judge.choosing import NOT_REACHED
from ..judge.comparison import Agreement, Compared, Comparison
from ..judge.control import Control, control, withheld
from ..judge.schedule import SAME_CODE as UNTIMED
from ..judge.schedule import Decision, PairPlan, Schedule
from ..judge.trial import Trial
from ..judge.verdict import SAME_KERNELS, SAME_WORK, GpuAndHost, Judgement
from ..judge.visit import Inspections, NotTimed, PairTimes, Visit, sample
from ..process.pairs import NotStartedError, Pairs
from ..process.plan import PairSettings, Plan
from ..process.returned import HEAD_RAISES
from ..process.turns import SAME_CODE
from ..process.variants import outcome, variant
from ..process.variants.collected import Suite
from ..process.variants.forking import THREAD
from ..process.variants.variant import Prepared
from . import confirm
from .inspecting import Inspecting
from .repeat import Repeat, ends_of
from .result import Result, Side
from .settle import allowed

_RESERVED = 1 / 5
"""Largest part of the time of a run that is left to check what changed in two processes."""


def _untimed(trial: Trial) -> Decision:
    """Return the state of a benchmark that needs no timing."""
    why = trial.not_timed
    if why is None and trial.has_same_kernels:
        return replace(UNTIMED, judgement=SAME_KERNELS)
    if why is None or why.kind == "same code":
        return UNTIMED
    return replace(UNTIMED, judgement=Judgement("incomparable", why.text))


def _confirmed(decision: Decision, trial: Trial) -> Decision:
    """Return a decision as pairs of two processes leave it."""
    if not trial.contradiction:
        return decision
    judgement = replace(decision.judgement, verdict="undecided", reason=trial.contradiction)
    return replace(decision, judgement=judgement)


def _seconds(logs: Sequence[float]) -> float:
    """Return the median of times, of which logarithms in nanoseconds are given."""
    return math.exp(np.median(logs)) / 1e9


def run(base: Prepared, head: Prepared, plan: Plan, watcher: Listener) -> Result:
    """Time two variants in turns, in as many pairs of fresh processes as needed.

    After an interruption, the result has what is known so far.
    """
    start, watch = RealTime.seconds(), ContentionWatch()
    interrupted = False
    with Pairs(plan, watcher) as pairs:
        pairs.shared.end_seconds = start + plan.total_seconds
        state = _Run(PairSettings(base, head), plan, watcher, pairs)
        try:
            state.inspect()
            while state.pair():
                pass
            state.recheck()
        except KeyboardInterrupt:
            interrupted = True
    return Result(
        "ab",
        Side.of(base),
        Side.of(head),
        Comparison(withheld(state.rows(), state.control)),
        plan.thresholds,
        environment.collect(plan.folder),
        RealTime.seconds() - start,
        None if pairs.shared.simulated else round(watch.contention_share(), 4),
        interrupted,
        str(plan.shard) if plan.shard else None,
        tuple(state.notes()),
        state.repeat(),
        state.schedule.needed_seconds,
        state.control,
    )


class _Run:
    """A comparison: its benchmarks, what is timed next, and what is known so far."""

    def __init__(self, settings: PairSettings, plan: Plan, watcher: Listener, pairs: Pairs) -> None:
        self._settings, self._plan, self._watcher, self._pairs = settings, plan, watcher, pairs
        self.inspecting = Inspecting(pairs, settings, watcher, self._chosen)
        self.schedule = Schedule((), plan.thresholds)
        self.host = Schedule((), plan.thresholds)
        """Judges wall time where the GPU's own is judged and the host does other work."""
        self._notes: list[str] = []
        self._visits, self._controls = 0, list[Visit]()
        self._rng = random.Random(plan.seed)  # noqa: S311 - turns, not secrets
        self._reserves = True
        """Whether time is still to be left to check what changed."""

    def inspect(self) -> None:
        """Inspect the benchmarks, for at most a half of the time; then it is known which must be timed."""
        start = RealTime.seconds()
        try:
            self.inspecting.run(self._plan.total_seconds / 2)
        finally:
            if self.inspecting.suite.names:
                self._begin(start)

    @property
    def trials(self) -> Mapping[str, Trial]:
        """The benchmarks by name, when they are known."""
        return self.inspecting.trials

    def _begin(self, start: float) -> None:
        """Take what was inspected since a time."""
        plan, suite = self._plan, self.inspecting.suite
        self._notes += [*suite.notes(all_named=plan.only is not None), *self.inspecting.notes()]
        if plan.shard:
            whole = units.count(len(suite.benchmarks), "benchmark")
            self._notes.append(f"shard {plan.shard}: {len(self.trials)} of {whole}")
        self._separate()
        self.schedule = self._scheduled()
        for trial in self.trials.values():
            why, trial.not_timed = trial.not_timed, None
            if why is None and trial.inspections and trial.inspections.same_code and not plan.time_all:
                why = SAME_CODE
            if why:
                self._take(trial, why)
            elif trial.has_same_kernels:
                self.schedule.leave_out(trial.name)
        self.schedule.spend(RealTime.seconds() - start)
        names = [trial.name for trial in self.trials.values() if trial.needs_host_time]
        seconds = plan.per_benchmark_seconds
        self.host = Schedule(names, plan.thresholds.of_host, seconds, self.schedule.left_seconds)
        self._update()

    def _separate(self) -> None:
        """Time the sides in two processes if they may differ in what all code of a process shares."""
        inspections = [trial.inspections for trial in self.trials.values() if trial.inspections]
        common = [names for row in inspections if (names := row.common) is not None]
        if not common or any(common):
            names = next(filter(None, common), ("settings that are not known",))
            self._pairs.separate(f"the sides differ in {units.listed(names, 3)}")

    def _scheduled(self) -> Schedule:
        """Return what divides the time among the benchmarks, those to which most work was added first."""
        plan, thresholds = self._plan, self._plan.thresholds
        added = {
            trial.name: trial.inspections.added_work for trial in self.trials.values() if trial.inspections
        }
        most = max(added.values(), default=0.0)
        return Schedule(
            sorted(self.trials, key=lambda name: -added.get(name, 0.0)),
            thresholds,
            plan.per_benchmark_seconds,
            plan.total_seconds,
            np.random.default_rng(plan.seed),
            plan.total_option,
            allowed(thresholds.accepted, self._settings.base, self._settings.head),
            [name for name, more in added.items() if more >= max(most / 2, thresholds.effect)],
        )

    def _take(self, trial: Trial, result: Visit | NotTimed) -> None:
        """Take the result of a visit, which may show that the benchmark needs no timing."""
        if isinstance(result, Visit):
            trial.head_logs.append(sample(result).head)
            if result.wall:
                trial.wall_logs.append(sample(result.wall).head)
            else:
                self.host.leave_out(trial.name)
            return
        skipped = result.kind == "skipped" and not trial.head_logs
        if skipped or result.kind in ("incomparable", "head fails", "same code"):
            trial.not_timed = result
            self.schedule.leave_out(trial.name)
            self.host.leave_out(trial.name)

    def decisions(self) -> dict[str, Decision]:
        """Return the state of each benchmark, without those that both sides skip."""
        timed = self.schedule.decisions()
        return {
            name: _confirmed(timed[name], trial) if name in timed else _untimed(trial)
            for name, trial in self.trials.items()
            if not (trial.not_timed and trial.not_timed.kind == "skipped")
        }

    def notes(self) -> list[str]:
        """Return what is to be said of the run."""
        skipped = [
            why.text for trial in self.trials.values() if (why := trial.not_timed) and why.kind == "skipped"
        ]
        is_slow = self._pairs.shared.why_no_forks == THREAD
        starts = [f"each pair ran in new processes, because {THREAD}"] if is_slow else []
        return [*self._notes, *starts, *outcome.skips(skipped, outcome.BOTH_SKIP)]

    def _chosen(self, suite: Suite) -> Sequence[str]:
        names, only, shard = suite.chosen(), self._plan.only, self._plan.shard
        if only is not None:
            names = [name for name in only if name in names]
        return [name for name in names if shard.has(name)] if shard else names

    def pair(self) -> bool:
        """Run a pair of processes; return whether there is more to do."""
        pair_plan, schedule = self.schedule.next(), self.schedule
        if pair_plan is None:
            pair_plan, schedule = self.host.next(), self.host
        if pair_plan is None:
            return False
        try:
            _, times = self._pairs.measure(self._settings, self.trials, pair_plan)
        except NotStartedError as error:
            if self._pairs.shared.left_seconds() > 0:
                self._notes.append(f"ended early: {error}")
            return False
        start = RealTime.seconds()
        results: dict[str, Visit | NotTimed] = {**times.visits, **times.failures}
        for name, result in results.items():
            self._take(self.trials[name], result)
        self._confirm(times.failures)
        failures = {name: why for name, why in times.failures.items() if not self.trials[name].not_timed}
        self._add(replace(times, failures=failures), to_host=schedule is self.host)
        self._reserve()
        self._control(pair_plan, times.visits)
        self.schedule.spend(RealTime.seconds() - start)
        if line := self.schedule.forecast():
            self._watcher.say(line)
        self._update()
        return True

    def _add(self, times: PairTimes, *, to_host: bool) -> None:
        """Add what a pair measured; one that was planned for the host alone decides nothing else."""
        wall = {name: visit.wall for name, visit in times.visits.items() if visit.wall}
        self._pairs.starts_ahead |= bool(wall)
        if to_host:
            self.schedule.spend(times.start_seconds + sum(visit.seconds for visit in times.visits.values()))
        else:
            self.schedule.add(times)
        judged, failures = self.host.decisions(), times.failures if to_host else {}
        wall = {name: visit for name, visit in wall.items() if name in judged}
        if wall or to_host:
            self.host.add(replace(times, visits=wall, failures=failures))

    def _confirm(self, failures: Mapping[str, NotTimed]) -> None:
        """Run benchmarks that were never timed, and that one side has failed, again in that side alone."""
        failed = [replace(self.trials[name], not_timed=why) for name, why in failures.items()]
        failed = [trial for trial in failed if not trial.head_logs]
        confirm.failures(self._settings, self._pairs.shared, self._watcher, failed)
        for trial in failed:
            if trial.not_timed and trial.not_timed is not failures[trial.name]:
                self._take(self.trials[trial.name], trial.not_timed)

    def recheck(self) -> None:
        """Let pairs of two processes, apart on purpose, contradict what is slower or faster in one."""
        if why := self._pairs.shared.why_apart:
            self._notes.append(f"each side was timed in a process of its own: {why}")
        verdicts = {name: decision.judgement for name, decision in self.schedule.decisions().items()}
        if note := confirm.changes(self._settings, self._pairs, self.trials, verdicts):
            self._notes.append(note)

    def _reserve(self) -> None:
        """Leave time to check what changed in two processes, which start at once and have a session each."""
        parents = self._pairs.shared.parents
        if self._reserves and parents and parents.sessions:
            seconds = min(parents.seconds, self._plan.total_seconds * _RESERVED)
            if self.schedule.left_seconds > seconds + self.schedule.needed_seconds:
                self.schedule.spend(seconds)
        self._reserves = False

    def _control(self, pair_plan: PairPlan, visits: Mapping[str, Visit]) -> None:
        """Time the base against itself, as often as the square root of the visits, while there is time."""
        is_first = not self._visits
        self._visits += len(visits)
        if not visits or is_first or len(self._controls) + 1 >= math.sqrt(self._visits):
            return
        name = self._rng.choice([*visits])
        if 2 * visits[name].seconds > self.schedule.left_seconds:
            return
        seconds, longest = pair_plan.seconds[name], pair_plan.longest_seconds
        if visit := self._pairs.control(self._settings, self.trials[name], seconds, longest):
            self._controls.append(visit)

    @property
    def control(self) -> Control | None:
        """What the base is against itself. None if too few visits were controls."""
        return control(self._controls)

    def _update(self) -> None:
        self._watcher.update(self.decisions(), self.schedule.spent_seconds, self.schedule.left_seconds)

    def rows(self) -> list[Compared]:
        """Return the benchmarks with the verdicts that were measured."""
        rows = []
        for name, decision in self.decisions().items():
            trial = self.trials[name]
            inspected = trial.inspections or Inspections()
            logs, results, on = trial.head_logs, inspected.results, self._on(trial, decision)
            notes = *inspected.work.notes(), *inspected.notes, *trial.notes
            is_reported = results and results.is_other and not results.reason.startswith(HEAD_RAISES)
            if trial.not_timed and trial.not_timed.kind == "head fails" and not is_reported:
                results = Agreement("differ", decision.judgement.reason)
            rows.append(
                Compared(
                    name,
                    on.judgement if on else decision.judgement,
                    _seconds(logs) if logs else None,
                    notes=(*notes, on.note) if on else notes,
                    work=inspected.work,
                    memory=inspected.memory,
                    results=results,
                    counts=replace(decision.counts, seconds=round(decision.counts.seconds, 3)),
                    on=on,
                )
            )
        return rows

    def _on(self, trial: Trial, decision: Decision) -> GpuAndHost | None:
        """Return the verdicts on the GPU's own time and on the host. Returns None if that is not judged."""
        if not trial.wall_logs:
            return None
        host = self.host.decisions().get(trial.name)
        judgement = host.judgement if host else Judgement("undecided", NOT_REACHED)
        if trial.does_same_work:
            judgement = SAME_WORK
        seconds = map(_seconds, (trial.head_logs, trial.wall_logs))
        return GpuAndHost(decision.judgement, judgement, *seconds)

    def repeat(self) -> Repeat:
        """Return what commands need that time the benchmarks again."""
        base, head = self._settings.base, self._settings.head
        ends = ends_of(variant.parse(base.text), variant.parse(head.text), clean=not head.dirty)
        suite = self.inspecting.suite
        words = tuple(word for word in self._plan.arguments if word not in suite.places)
        return Repeat(base.text, head.text, ends, self._plan.options, words, suite.places, suite.rootdir)
