"""Runs pairs of processes, a process for each side, until all benchmarks are decided or no budget is left.

A visit is the measurement of one benchmark in one pair.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..ground import environment, units
from ..ground.cpu import ContentionWatch, RealTime
from ..interfaces import Listener
from ..judge.comparison import Agreement, Compared, Comparison
from ..judge.control import Control, control, withhold_verdicts
from ..judge.estimate import sample
from ..judge.schedule import UNTIMED, Decision, PairPlan, Schedule
from ..judge.selection import NOT_REACHED
from ..judge.trial import Trial
from ..judge.verdict import SAME_KERNELS, SAME_WORK, GpuAndHost, Judgement
from ..judge.visit import NotTimed, PairTimes, Visit
from ..process.pairs import NotStartedError, Pairs
from ..process.plan import PairSettings, Plan
from ..process.returned import HEAD_RAISES
from ..process.turns import SAME_CODE
from ..process.variants import outcome
from ..process.variants.startup import THREAD
from ..process.variants.variant import Prepared
from . import confirm, repeat
from .inspector import Inspector
from .result import Result, Side
from .settle import allowed

_RESERVED = 1 / 5
"""Largest share of a run's time that is reserved for `_Run.recheck`."""


def _decision(trial: Trial, timed: Decision | None) -> Decision:
    """Return the decision on a benchmark. `timed`: the decision by its times. None if it needs no timing."""
    reason = trial.not_timed
    if timed is None:
        if reason and reason.kind != "same code":
            return replace(UNTIMED, judgement=Judgement("incomparable", reason.text))
        has_same_kernels = not reason and trial.inspections.same_kernels
        return replace(UNTIMED, judgement=SAME_KERNELS) if has_same_kernels else UNTIMED
    if not trial.contradiction:
        return timed
    judgement = replace(timed.judgement, verdict="undecided", reason=trial.contradiction)
    return replace(timed, judgement=judgement)


def _median_seconds(logs: Sequence[float]) -> float:
    """Return the median of times. `logs`: natural logarithms of the times in nanoseconds."""
    return math.exp(np.median(logs)) / 1e9


def run(base: Prepared, head: Prepared, plan: Plan, watcher: Listener) -> Result:
    """Time two variants alternately, in as many pairs of new processes as verdicts need.

    If the user interrupts the run, the result contains what is known by then.
    """
    start, watch = RealTime.seconds(), ContentionWatch()
    interrupted = False
    with Pairs(plan, watcher) as pairs:
        pairs.shared.end_seconds = start + plan.total_seconds
        state = _Run(PairSettings(base, head), plan, watcher, pairs)
        try:
            state.inspect()
            while state.run_pair():
                pass
            state.recheck()
        except KeyboardInterrupt:
            interrupted = True
    return Result(
        "ab",
        Side.of(base),
        Side.of(head),
        Comparison(withhold_verdicts(state.rows(), state.control)),
        plan.thresholds,
        environment.collect(plan.folder),
        seconds=RealTime.seconds() - start,
        contention_share=None if pairs.shared.simulated else round(watch.contention_share(), 4),
        interrupted=interrupted,
        shard=str(plan.shard) if plan.shard else None,
        notes=tuple(state.notes()),
        repeat=repeat.of_variants(base, head, plan, state.inspector.suite),
        needed_seconds=state.schedule.needed_seconds,
        control=state.control,
    )


class _Run:
    """A comparison in progress: its benchmarks, what is timed next, and what is known so far."""

    def __init__(self, settings: PairSettings, plan: Plan, watcher: Listener, pairs: Pairs) -> None:
        self._settings, self._plan, self._watcher, self._pairs = settings, plan, watcher, pairs
        self.inspector = Inspector(pairs, settings, watcher)
        self.schedule = Schedule((), plan.thresholds)
        self._host_schedule = Schedule((), plan.thresholds)
        """Judges wall time if the GPU's own time is judged and the host's work differs."""
        self._notes: list[str] = []
        self._visits, self._controls = 0, list[Visit]()
        self._rng = random.Random(plan.seed)  # noqa: S311 - selects benchmarks, no secrets
        self._needs_reserve = True
        """Whether `_reserve_time` has not run yet."""

    def inspect(self) -> None:
        """Inspect the benchmarks for at most half of the run's time, then plan which ones to time."""
        start = RealTime.seconds()
        try:
            self.inspector.run(self._plan.total_seconds / 2)
        finally:
            if self.inspector.suite.names:
                self._plan_timing(start)

    @property
    def _trials(self) -> Mapping[str, Trial]:
        """The benchmarks by name. Empty until the tests are collected."""
        return self.inspector.trials

    def _plan_timing(self, inspection_start: float) -> None:
        """Divide the rest of the run's time among the benchmarks that must be timed."""
        plan, suite = self._plan, self.inspector.suite
        self._notes += self.inspector.notes()
        if plan.shard:
            total = units.count(len(suite.benchmarks), "benchmark")
            self._notes.append(f"shard {plan.shard}: {len(self._trials)} of {total}")
        self._separate_sides()
        self.schedule = self._new_schedule()
        for trial in self._trials.values():
            reason, trial.not_timed = trial.not_timed, None
            if reason is None and trial.inspections.same_code and not plan.time_all:
                reason = SAME_CODE
            if reason:
                self._record(trial, reason)
            elif trial.inspections.same_kernels:
                self.schedule.leave_out(trial.name)
        self.schedule.spend(RealTime.seconds() - inspection_start)
        names = [trial.name for trial in self._trials.values() if trial.inspections.needs_host_time]
        seconds = plan.per_benchmark_seconds
        self._host_schedule = Schedule(names, plan.thresholds.of_host, seconds, self.schedule.left_seconds)
        self._show_progress()

    def _separate_sides(self) -> None:
        """Time the sides in two processes if their settings or libraries differ, or are unknown."""
        all_names = (trial.inspections.process_wide for trial in self._trials.values())
        differing = [names for names in all_names if names is not None]
        if not differing or any(differing):
            names = next(filter(None, differing), ("unknown settings",))
            self._pairs.separate(f"the sides differ in {units.listed(names, 3)}")

    def _new_schedule(self) -> Schedule:
        """Return a schedule of all benchmarks. Those to which the head adds the most work come first."""
        plan, thresholds = self._plan, self._plan.thresholds
        added = {trial.name: trial.inspections.added_work for trial in self._trials.values()}
        most = max(added.values(), default=0.0)
        return Schedule(
            sorted(added, key=lambda name: -added[name]),
            thresholds,
            plan.per_benchmark_seconds,
            plan.total_seconds,
            random=np.random.default_rng(plan.seed),
            total_option=plan.total_option,
            allowed=allowed(thresholds.accepted, self._settings.base, self._settings.head),
            likely=[name for name, more in added.items() if more >= max(most / 2, thresholds.effect)],
        )

    def _record(self, trial: Trial, result: Visit | NotTimed) -> None:
        """Record the result of a visit. It may show that the benchmark needs no timing."""
        if isinstance(result, Visit):
            trial.head_logs.append(sample(result).head)
            if result.wall:
                trial.wall_logs.append(sample(result.wall).head)
            else:
                self._host_schedule.leave_out(trial.name)
            return
        is_skipped = result.kind == "skipped" and not trial.head_logs
        if is_skipped or result.kind in ("incomparable", "head fails", "same code"):
            trial.not_timed = result
            self.schedule.leave_out(trial.name)
            self._host_schedule.leave_out(trial.name)

    def _decisions(self) -> dict[str, Decision]:
        """Return the decision on each benchmark, except those that both sides skip."""
        timed = self.schedule.decisions()
        return {
            name: _decision(trial, timed.get(name))
            for name, trial in self._trials.items()
            if not (trial.not_timed and trial.not_timed.kind == "skipped")
        }

    def notes(self) -> list[str]:
        """Return the notes on the run as a whole."""
        skipped = [
            row.text for trial in self._trials.values() if (row := trial.not_timed) and row.kind == "skipped"
        ]
        is_slow = self._pairs.shared.why_no_forks == THREAD
        starts = [f"each pair of processes was started anew, because {THREAD}"] if is_slow else []
        return [*self._notes, *starts, *outcome.skips(skipped, outcome.BOTH_SKIP)]

    def run_pair(self) -> bool:
        """Run a pair of processes. Returns whether another pair may be needed."""
        pair_plan, schedule = self.schedule.next(), self.schedule
        if pair_plan is None:
            pair_plan, schedule = self._host_schedule.next(), self._host_schedule
        if pair_plan is None:
            return False
        try:
            _, times = self._pairs.measure(self._settings, self._trials, pair_plan)
        except NotStartedError as error:
            if self._pairs.shared.left_seconds() > 0:
                self._notes.append(f"ended early: {error}")
            return False
        start = RealTime.seconds()
        results: dict[str, Visit | NotTimed] = {**times.visits, **times.failures}
        for name, result in results.items():
            self._record(self._trials[name], result)
        # Benchmarks that failed on one side, and were never timed, run again on that side alone.
        failing = {name: row for name, row in times.failures.items() if not self._trials[name].head_logs}
        for name, failure in confirm.failures(
            self._settings, self._pairs.shared, self._watcher, failing
        ).items():
            self._record(self._trials[name], failure)
        failures = {name: row for name, row in times.failures.items() if not self._trials[name].not_timed}
        self._add_times(replace(times, failures=failures), for_host=schedule is self._host_schedule)
        self._reserve_time()
        self._time_control(pair_plan, times.visits)
        self.schedule.spend(RealTime.seconds() - start)
        if line := self.schedule.forecast():
            self._watcher.say(line)
        self._show_progress()
        return True

    def _add_times(self, times: PairTimes, *, for_host: bool) -> None:
        """Add the times of a pair to the schedules. `for_host`: whether `_host_schedule` planned the pair."""
        wall = {name: visit.wall for name, visit in times.visits.items() if visit.wall}
        self._pairs.starts_ahead |= bool(wall)
        if for_host:
            self.schedule.spend(times.start_seconds + sum(visit.seconds for visit in times.visits.values()))
        else:
            self.schedule.add(times)
        judged = self._host_schedule.decisions()
        wall = {name: visit for name, visit in wall.items() if name in judged}
        if wall or for_host:
            failures = times.failures if for_host else {}
            self._host_schedule.add(replace(times, visits=wall, failures=failures))

    def recheck(self) -> None:
        """Time slower and faster benchmarks again, with each side in a process of its own."""
        if reason := self._pairs.shared.why_apart:
            self._notes.append(f"each side was timed in a process of its own: {reason}")
        verdicts = {name: decision.judgement for name, decision in self.schedule.decisions().items()}
        if note := confirm.changes(self._settings, self._pairs, self._trials, verdicts):
            self._notes.append(note)

    def _reserve_time(self) -> None:
        """After the first pair, reserve time for `recheck`, unless each side already has its own process."""
        parents = self._pairs.shared.parents
        if self._needs_reserve and parents and parents.sessions:
            seconds = min(parents.seconds, self._plan.total_seconds * _RESERVED)
            if self.schedule.left_seconds > seconds + self.schedule.needed_seconds:
                self.schedule.spend(seconds)
        self._needs_reserve = False

    def _time_control(self, pair_plan: PairPlan, visits: Mapping[str, Visit]) -> None:
        """Time the base against itself, if controls are fewer than the square root of the visits."""
        is_first = not self._visits
        self._visits += len(visits)
        if not visits or is_first or len(self._controls) + 1 >= math.sqrt(self._visits):
            return
        name = self._rng.choice([*visits])
        if 2 * visits[name].seconds > self.schedule.left_seconds:
            return
        seconds, longest = pair_plan.seconds[name], pair_plan.longest_seconds
        if visit := self._pairs.control(self._settings, self._trials[name], seconds, longest):
            self._controls.append(visit)

    @property
    def control(self) -> Control | None:
        """The ratio of the base to itself. None if there are too few measurements."""
        return control(self._controls)

    def _show_progress(self) -> None:
        self._watcher.update(self._decisions(), self.schedule.spent_seconds, self.schedule.left_seconds)

    def rows(self) -> list[Compared]:
        """Return the benchmarks with their verdicts."""
        rows = []
        for name, decision in self._decisions().items():
            trial = self._trials[name]
            inspections = trial.inspections
            logs, results, on = trial.head_logs, inspections.results, self._gpu_and_host(trial, decision)
            notes = *inspections.work.notes(), *inspections.notes, *trial.notes
            is_reported = results and results.is_different and not results.reason.startswith(HEAD_RAISES)
            if trial.not_timed and trial.not_timed.kind == "head fails" and not is_reported:
                results = Agreement("differ", decision.judgement.reason)
            rows.append(
                Compared(
                    name,
                    on.judgement if on else decision.judgement,
                    _median_seconds(logs) if logs else None,
                    notes=(*notes, on.note) if on else notes,
                    work=inspections.work,
                    memory=inspections.memory,
                    results=results,
                    counts=replace(decision.counts, seconds=round(decision.counts.seconds, 3)),
                    on=on,
                )
            )
        return rows

    def _gpu_and_host(self, trial: Trial, decision: Decision) -> GpuAndHost | None:
        """Return the verdicts on GPU time and on the host. Returns None if GPU time is not judged."""
        if not trial.wall_logs:
            return None
        host = self._host_schedule.decisions().get(trial.name)
        judgement = host.judgement if host else Judgement("undecided", NOT_REACHED)
        if trial.inspections.same_work:
            judgement = SAME_WORK
        gpu_seconds, wall_seconds = map(_median_seconds, (trial.head_logs, trial.wall_logs))
        return GpuAndHost(decision.judgement, judgement, gpu_seconds, wall_seconds)
