"""Runs pairs of processes until all benchmarks are decided or the budget is spent."""

import math
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ... import environment, units
from ...clocks import RealTime
from ...cpu import Watch
from ...errors import UsageError
from ...packages import version
from ...results import left_out
from ...shard import Shard
from ...variants import variant
from ...variants.collected import unmatched
from ...variants.prepare import Prepared
from ..allowed import Allowed
from ..comparison import Compared, Comparison
from ..repeat import Repeat, ends_of
from ..result import Result, Side
from ..verdict import Thresholds
from .inspections import Inspections
from .pair import NO_DEFAULT, Workers
from .processes import Processes
from .schedule import SAME_CODE, Decision, Plan, Schedule
from .visit import NotTimed, Pair, Visit, sample

if TYPE_CHECKING:
    from .turns import Size

_STARTS = 2
"""The run ends after this many failed starts in a row."""


class Watcher(Protocol):
    """Receives the progress of a run."""

    def say(self, text: str) -> None:
        """Receive a problem from which the run recovered."""

    def step(self, text: str, at_most_seconds: float | None = None) -> None:
        """Receive the step that begins, and the longest time that it can take, if known."""

    def update(self, decisions: Mapping[str, Decision], spent_seconds: float, left_seconds: float) -> None:
        """Receive the state of each benchmark."""


@dataclass(frozen=True)
class Budget:
    """Time limits."""

    per_benchmark_seconds: float
    total_seconds: float | None
    answer_seconds: float
    """A process that does not answer for so long is given up."""
    total_option: str = "--total-budget"
    """The option that sets `total_seconds`, for messages."""


def run(
    base: Prepared,
    head: Prepared,
    arguments: Sequence[str],
    folder: Path,
    thresholds: Thresholds,
    budget: Budget,
    watcher: Watcher,
    seed: int,
    shard: Shard | None = None,
    *,
    only: Sequence[str] | None = None,
    time_all: bool = False,
    allowed: Mapping[str, Allowed] | None = None,
) -> Result:
    """Time two variants in turns, in as many pairs of fresh processes as needed.

    After an interruption, the result has what is known so far.

    Args:
        base: the older side.
        head: the newer side.
        arguments: pytest's arguments.
        folder: pytest's working directory: the caller's tree, whose benchmarks both sides run.
        thresholds: levels, and the minimum effect of interest.
        budget: time limits.
        watcher: receives the progress.
        seed: seeds the order of sides and of benchmarks.
        shard: the part of the benchmarks to time, to which the thresholds apply; None: all.
        only: ids of the benchmarks to time, the most important first; None: all.
        time_all: also time the benchmarks for which both sides run the same code.
        allowed: how much slower benchmarks may be.

    Raises:
        UsageError: there is nothing to time, or a variant cannot run it.
    """
    start, watch = RealTime.seconds(), Watch()
    interrupted = False
    with tempfile.TemporaryDirectory(prefix="gnnbench-ab-") as logs:
        session = _Session(
            base,
            head,
            arguments,
            folder,
            thresholds,
            budget,
            watcher,
            seed,
            Path(logs),
            shard,
            only=only,
            time_all=time_all,
            allowed=allowed,
        )
        try:
            while session.pair():
                pass
        except KeyboardInterrupt:
            interrupted = True
    return Result(
        "ab",
        Side.of(base),
        Side.of(head),
        Comparison(session.rows(), None),
        thresholds,
        asdict(environment.collect(folder)),
        RealTime.seconds() - start,
        None if session.simulated else round(watch.contention_share(), 4),
        interrupted,
        str(shard) if shard else None,
        (*session.notes, *session.skipped(), *left_out.several(session.several)),
        session.repeat(),
        session.schedule.needed_seconds if session.schedule else 0.0,
    )


class _Session:
    """The state of a run between its pairs."""

    def __init__(
        self,
        base: Prepared,
        head: Prepared,
        arguments: Sequence[str],
        folder: Path,
        thresholds: Thresholds,
        budget: Budget,
        watcher: Watcher,
        seed: int,
        logs: Path,
        shard: Shard | None,
        *,
        only: Sequence[str] | None,
        time_all: bool,
        allowed: Mapping[str, Allowed] | None,
    ) -> None:
        self.schedule: Schedule | None = None
        self.head_logs: dict[str, list[float]] = {}
        """By benchmark, the log of the newer side's time in each pair."""
        self.notes: list[str] = []
        self.several: list[str] = []
        """Tests that call `benchmark` more than once."""
        self._base, self._head = base, head
        self._arguments, self._folder, self._logs = arguments, folder, logs
        self._thresholds, self._budget, self._watcher = thresholds, budget, watcher
        self._rng = random.Random(seed)  # noqa: S311 - turns, not secrets
        self._seed = seed
        self._shard, self._only, self._time_all, self._allowed = shard, only, time_all, allowed
        self.inspections: dict[str, Inspections] = {}
        self._names: list[str] = []
        """All benchmarks that are not skipped, in the order of collection."""
        self._sizes: dict[str, Size] = {}
        self._number = self._failed_starts = self._skipped = 0
        self._fake_seconds = 0.0
        self.simulated = False
        self._places: tuple[str, ...] = ()
        self._rootdir = "."

    def pair(self) -> bool:
        """Run a pair of processes; return whether there is more to do."""
        plan = self.schedule.next() if self.schedule else None
        if self.schedule and plan is None:
            return False
        begin = RealTime.seconds()
        self._number += 1
        processes = Processes(
            self._base,
            self._head,
            self._arguments,
            folder=self._folder,
            logs=self._logs,
            rng=self._rng,
            timeout_seconds=self._budget.answer_seconds,
            number=self._number,
            fake_seconds=self._fake_seconds,
        )
        workers = Workers(processes, self._rng, self._sizes, self.inspections, time_all=self._time_all)
        # Each side in turn may take this long to collect the suite.
        at_most = 2 * self._budget.answer_seconds
        self._watcher.step(f"starting the processes of pair {self._number}, and collecting", at_most)
        with workers:
            if workers.broken:
                return self._not_started(workers.broken)
            self._failed_starts = 0
            if self.schedule is None:
                self.schedule = self._schedule(workers)
                plan = self.schedule.next()
                self._update(self.schedule)
            if plan is None:
                return False  # the shard has no benchmarks
            found = self._visit_all(workers, self.schedule, plan)
            self._watcher.step(f"ending the processes of pair {self._number}")
        self.several += workers.several
        workers.check_trees(self._base, self._head)
        self._fake_seconds = processes.fake_seconds or 0.0
        # The cost of a pair is all time outside its visits, including the end of its processes.
        self.simulated = processes.fake_seconds is not None
        timed = 0.0 if self.simulated else sum(one.seconds for one in found.visits.values())
        price = RealTime.seconds() - begin - timed - found.settled_seconds
        self.schedule.add(replace(found, start_seconds=price))
        self._update(self.schedule)
        return True

    def _visit_all(self, workers: Workers, schedule: Schedule, plan: Plan) -> Pair:
        """Visit the planned benchmarks, as far as the time of the pair allows."""
        visits: dict[str, Visit] = {}
        failures: dict[str, NotTimed] = {}
        settled_seconds, begin = 0.0, RealTime.seconds()
        for number, (name, seconds) in enumerate(plan.seconds.items(), 1):
            if number > 1 and self._elapsed(workers.processes, begin) > plan.at_most_seconds:
                break
            self._watcher.step(
                f"timing benchmark {number} of {len(plan.seconds)} in pair {self._number},"
                f" for {seconds:.1f} s after its set-up: {name}"
            )
            visited = RealTime.seconds()
            found = workers.visit(name, seconds, plan.longest_seconds)
            if isinstance(found, Visit):
                visits[name] = found
                self.head_logs.setdefault(name, []).append(sample(found).head)
            elif found.kind == "same code" or (found.kind == "skipped" and name not in self.head_logs):
                settled_seconds += RealTime.seconds() - visited
                schedule.leave_out(name)
                if found.kind == "skipped":
                    self._skipped += 1
                    self._names.remove(name)
            else:
                failures[name] = found
            if workers.broken:
                self._watcher.say(f"{name}: {workers.broken}; restarting both sides")
                break
        return Pair(0.0, visits, failures, settled_seconds)

    def _elapsed(self, processes: Processes, begin: float) -> float:
        """Return the seconds of a pair's visits so far, those of a simulated machine included."""
        simulated = max((processes.fake_seconds or 0.0) - self._fake_seconds, 0.0)
        return RealTime.seconds() - begin + simulated

    def _update(self, schedule: Schedule) -> None:
        self._watcher.update(self.decisions(), schedule.spent_seconds, schedule.left_seconds)

    def decisions(self) -> dict[str, Decision]:
        """Return the state of each benchmark, without those that both sides skip."""
        timed = self.schedule.decisions() if self.schedule else {}
        return {name: timed.get(name, SAME_CODE) for name in self._names}

    def rows(self) -> list[Compared]:
        """Return the benchmarks with the verdicts that were measured."""
        rows = []
        for name, decision in self.decisions().items():
            inspected, logs = self.inspections.get(name, Inspections()), self.head_logs.get(name)
            rows.append(
                Compared(
                    name,
                    decision.judgement,
                    math.exp(np.median(logs)) / 1e9 if logs else None,
                    notes=inspected.work.notes(),
                    work=inspected.work,
                    memory=inspected.memory,
                    counts=decision.counts,
                )
            )
        return rows

    def skipped(self) -> list[str]:
        """Return a note on benchmarks that both sides skip, if there are any."""
        skipped = units.count(self._skipped, "benchmark")
        return [f"skipped on both sides, and left out: {skipped}"] if self._skipped else []

    def repeat(self) -> Repeat:
        """Return what commands need that time the benchmarks again."""
        ends = ends_of(
            variant.parse(self._base.text),
            variant.parse(self._head.text),
            version,
            clean=not self._head.dirty,
        )
        options = tuple(word for word in self._arguments if word not in self._places)
        return Repeat(
            self._base.text, self._head.text, ends, pytest=options, places=self._places, rootdir=self._rootdir
        )

    def _not_started(self, why: str) -> bool:
        self._failed_starts += 1
        if self._failed_starts < _STARTS:
            self._watcher.say(f"{why}; restarting both sides")
            return True
        if self.schedule is None:
            raise UsageError(why)
        self.notes.append(f"ended early: {why}")
        return False

    def _schedule(self, workers: Workers) -> Schedule:
        refused, choice, names = workers.refusals(), workers.choice(), workers.benchmarks
        self._places, self._rootdir = workers.places, workers.rootdir
        if not names and choice:
            raise UsageError(NO_DEFAULT)
        if not names:
            raise UsageError(workers.no_benchmarks())
        self.notes.extend((*workers.notes, *refused))
        if self._only is not None:
            names = [name for name in self._only if name in names]
        else:
            self.notes.extend(choice)
            if workers.folders is not None:
                self.notes.extend(unmatched(self._thresholds.rules, workers.declared, workers.folders))
        if self._shard:
            whole, names = len(names), [name for name in names if self._shard.has(name)]
            self.notes.append(f"shard {self._shard}: {len(names)} of {units.count(whole, 'benchmark')}")
        self._names = names
        budget = self._budget
        return Schedule(
            names,
            self._thresholds,
            budget.per_benchmark_seconds,
            budget.total_seconds,
            np.random.default_rng(self._seed),
            budget.total_option,
            self._allowed,
        )
