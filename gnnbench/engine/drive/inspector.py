"""Inspects benchmarks on both sides, or counts their instructions, without timing them."""

import math
from dataclasses import replace
from typing import Any

from ..ground import units
from ..ground.cpu import RealTime
from ..interfaces import Listener
from ..judge.comparison import Work
from ..judge.instructions import InstructionChange
from ..judge.trial import Trial
from ..judge.visit import Inspections, NotTimed
from ..measure.fingerprint.difference import Difference
from ..measure.instructions import counter_name
from ..process.pairs import Pair, Pairs
from ..process.plan import PairSettings, Plan
from ..process.unchanged.known import Unchanged
from ..process.variants.child import SIDES
from ..process.variants.collected import Suite
from ..process.variants.variant import Prepared
from . import confirm
from .result import Result

ANSWER_SECONDS = 1800.0
"""Timeout under callgrind, where an import of torch and PyG takes half a minute of CPU time."""


class Inspector:
    """Inspects the benchmarks of the plan, except those that files of earlier runs show to be unchanged.

    An inspection counts what one call does on both sides, and fingerprints the code that the call runs.
    """

    def __init__(self, pairs: Pairs, settings: PairSettings, listener: Listener) -> None:
        self._pairs, self._settings, self._listener = pairs, settings, listener
        plan = pairs.shared.plan
        words = [*plan.arguments, *map(repr, sorted(plan.defaults.items()))]
        self._unchanged = Unchanged(settings.base, settings.head, words, plan.folder, plan.cache)
        self.suite = Suite()
        self._used: dict[str, list[Any]] = {}
        """The code and files that the processes of a pair used, by side: see `manifest.Noted`."""
        self.trials: dict[str, Trial] = {}
        """The selected benchmarks, by name."""

    @property
    def _remaining(self) -> int:
        """Number of benchmarks that must still be inspected."""
        return sum(not trial.is_inspected for trial in self.trials.values())

    @property
    def _known(self) -> int:
        """Number of benchmarks that need no inspection because files show them unchanged or skipped."""
        return sum(trial.from_files for trial in self.trials.values())

    def run(self, at_most_seconds: float = math.inf) -> None:
        """Inspect one call of each benchmark, in one pair of processes, or in more if a side dies.

        `at_most_seconds`: no benchmark is begun after this time, but at least one is inspected.
        """
        end = RealTime.seconds() + at_most_seconds
        self._read_known()
        needs_pair = not self.trials or bool(self._remaining)
        while needs_pair:
            settings = replace(self._settings, untimed=True)
            with self._pairs.start(settings) as pair:
                self._set_suite(pair.suite)
                self._used = {
                    side: [("", "", answer["used"])]
                    for side, answer in pair.collected.items()
                    if "used" in answer
                }
                try:
                    self._inspect_remaining(pair, end)
                finally:
                    if not pair.why_unused():  # otherwise nothing of the variant was tested
                        self._unchanged.keep(pair.collected, self._used)
            needs_pair = pair.broken is not None and self._pairs.shared.left_seconds() > 0
            if self.trials:
                pair.check_trees()
        if not self._pairs.shared.plan.time_all:
            for trial, again in confirm.unexecuted(self.trials.values(), self._settings, self._pairs, end):
                trial.inspections = again
        not_timed = {name: trial.not_timed for name, trial in self.trials.items() if trial.not_timed}
        failures = confirm.failures(self._settings, self._pairs.shared, self._listener, not_timed)
        for name, failure in failures.items():
            self.trials[name].not_timed = failure

    def _set_suite(self, suite: Suite) -> None:
        """Select benchmarks of a suite. If a benchmark was selected before, its trial is kept."""
        self.suite = suite
        names, plan = suite.chosen(), self._pairs.shared.plan
        if plan.only is not None:
            names = [name for name in plan.only if name in names]
        if plan.shard:
            names = [name for name in names if plan.shard.has(name)]
        self.trials = {name: self.trials.get(name) or Trial(name) for name in names}

    def _read_known(self) -> None:
        """Use files of earlier runs to find the suite, and benchmarks that are unchanged or skipped."""
        collected, known = self._unchanged.known()
        if not collected:
            return
        self._set_suite(Suite(collected, collected))
        for name, trial in self.trials.items():
            trial.from_files = name in known
            if reason := known.get(name):
                trial.not_timed = NotTimed("skipped", reason, SIDES)
            elif trial.from_files:
                trial.inspections = Inspections(Work(Difference()))

    def _inspect_remaining(self, pair: Pair, end: float) -> None:
        """Inspect benchmarks in a pair until all are inspected, a side dies, or the time is over."""
        for number, trial in enumerate(self.trials.values(), 1):
            if trial.is_inspected:
                continue
            if RealTime.seconds() > end and len(self.trials) - self._remaining > self._known:
                break
            self._listener.step(f"inspecting benchmark {number} of {len(self.trials)}: {trial.name}")
            result = pair.inspect(trial)
            if pair.broken and self._pairs.shared.left_seconds() <= 0:
                break
            if isinstance(result, NotTimed):
                trial.not_timed = result
            if pair.broken:
                self._listener.say(f"{trial.name}: {pair.broken}; restarting both sides")
                break
            self._note_used(pair, trial)

    def _note_used(self, pair: Pair, trial: Trial) -> None:
        """Record the files that each side used for a benchmark; without its name if they prove nothing."""
        not_timed, inspections = trial.not_timed, trial.inspections
        skipped = not_timed.text if not_timed and not_timed.kind == "skipped" else ""
        for number, side in enumerate(SIDES):
            # A benchmark whose cost differs is inspected in each run: files do not show why its cost differs.
            is_known = (
                inspections.sides
                and inspections.sides[number]["fingerprint"]
                and not (inspections.unknown or inspections.work.cost)
            )
            if used := pair.used.get(side):
                self._used[side].append((trial.name if is_known or skipped else "", skipped, used))

    def notes(self) -> list[str]:
        """Return the notes on the suite, and on benchmarks that files show unchanged or skipped."""
        notes = self.suite.notes(all_named=self._pairs.shared.plan.only is not None)
        if not self._known:
            return notes
        inspected = units.count(len(self.trials) - self._remaining, "benchmark")
        return [
            *notes,
            f"{self._known} of {inspected} were compared by the file hashes that an earlier run saved",
        ]


def add_instructions(
    result: Result, base: Prepared, head: Prepared, plan: Plan, listener: Listener
) -> Result:
    """Add the number of instructions of a call to each benchmark whose sides run different code."""
    names = [row.fullname for row in result.rows if not row.judgement.same_code]
    if not names:
        return result
    changes: dict[str, InstructionChange] = {}
    notes: list[str] = []
    counter, plan = counter_name(), replace(plan, timeout_seconds=ANSWER_SECONDS)
    with Pairs(plan, listener) as pairs:
        settings = PairSettings(base, head, counter=counter, about=f"under {counter}: ", spared=SIDES)
        with pairs.start(settings) as pair:
            for number, name in enumerate(names, 1):
                if pair.broken:
                    break
                listener.step(f"counting instructions of benchmark {number} of {len(names)}: {name}")
                counts = pair.count(Trial(name))
                if not isinstance(counts, NotTimed):
                    changes[name] = InstructionChange.between(*counts)
                elif not pair.broken:
                    notes.append(f"instructions not counted: {name}: {counts.text}")
        if changes:
            pair.check_trees()
    if pair.broken:
        remaining = len(names) - len(changes) - len(notes)
        notes.append(f"instructions of {remaining} benchmarks not counted: {pair.broken}")
    rows = []
    for row in result.rows:
        work = replace(row.work, instructions=changes.get(row.fullname))
        others = (note for note in row.notes if note not in row.work.notes())
        rows.append(replace(row, work=work, notes=(*work.notes(), *others)))
    comparison = replace(result.comparison, rows=rows)
    return replace(result, comparison=comparison, notes=(*result.notes, *notes))
