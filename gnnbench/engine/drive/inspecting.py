"""Inspects benchmarks on both sides, or counts their instructions, without timing them."""

import math
from collections.abc import Callable, Sequence
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
"""Under callgrind, an import of torch and PyG takes half a minute of processor time."""
_SAME = Inspections(Work(Difference()))


class Inspecting:
    """Inspects the benchmarks of a suite, but for those that files show to be unchanged.

    `choose`: says which benchmarks of a suite are inspected, the most important first.
    """

    def __init__(
        self,
        pairs: Pairs,
        settings: PairSettings,
        listener: Listener,
        choose: Callable[[Suite], Sequence[str]],
    ) -> None:
        self._pairs, self._settings, self._listener, self._choose = pairs, settings, listener, choose
        plan = pairs.shared.plan
        words = [*plan.arguments, *map(repr, sorted(plan.defaults.items()))]
        self._unchanged = Unchanged(settings.base, settings.head, words, plan.folder, plan.cache)
        self.suite = Suite()
        self._noted: dict[str, list[Any]] = {}
        """By side, what the processes of a pair used: see `manifest.Noted`."""
        self.trials: dict[str, Trial] = {}
        """The chosen benchmarks, by name."""

    @property
    def remaining(self) -> Sequence[Trial]:
        """The benchmarks that are still to be inspected."""
        return [trial for trial in self.trials.values() if not trial.is_inspected]

    @property
    def known(self) -> int:
        """How many are known from files."""
        return sum(trial.from_files for trial in self.trials.values())

    def run(self, at_most_seconds: float = math.inf) -> None:
        """Inspect one call of each benchmark, in one pair of processes, or in more if a side dies.

        `at_most_seconds`: after this time those that remain are not inspected; one is always.
        """
        end = RealTime.seconds() + at_most_seconds
        self._take_known()
        broken = not self.trials or bool(self.remaining)
        while broken:
            settings = replace(self._settings, untimed=True)
            with self._pairs.start(settings) as pair:
                self._take(pair.suite)
                self._noted = {
                    side: [("", "", answer["used"])]
                    for side, answer in pair.collected.items()
                    if "used" in answer
                }
                try:
                    self._inspect_remaining(pair, end)
                finally:
                    if not pair.why_unused():  # what uses nothing of a variant says nothing
                        self._unchanged.keep(pair.collected, self._noted)
            broken = pair.broken is not None and self._pairs.shared.left_seconds() > 0
            if self.trials:
                pair.check_trees()
        if not self._pairs.shared.plan.time_all:
            for trial, found in confirm.unexecuted(self.trials.values(), self._settings, self._pairs, end):
                trial.inspections = found
        confirm.failures(self._settings, self._pairs.shared, self._listener, self.trials.values())

    def _take(self, suite: Suite) -> None:
        """Choose the benchmarks of a suite; what is known of them stays."""
        self.suite = suite
        self.trials = {name: self.trials.get(name) or Trial(name) for name in self._choose(suite)}

    def _take_known(self) -> None:
        """Take the benchmarks that run the same code as files show."""
        collected, known = self._unchanged.known()
        if not collected:
            return
        self._take(Suite(collected, collected))
        for name, trial in self.trials.items():
            trial.from_files = name in known
            if reason := known.get(name):
                trial.not_timed = NotTimed("skipped", reason, SIDES)
            elif trial.from_files:
                trial.inspections = _SAME

    def _inspect_remaining(self, pair: Pair, end: float) -> None:
        for number, trial in enumerate(self.trials.values(), 1):
            if trial.is_inspected:
                continue
            if RealTime.seconds() > end and len(self.trials) - len(self.remaining) > self.known:
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
            self._note(pair, trial)

    def _note(self, pair: Pair, trial: Trial) -> None:
        why_not, inspected = trial.not_timed, trial.inspections
        skipped = why_not.text if why_not and why_not.kind == "skipped" else ""
        for number, side in enumerate(SIDES):
            # What costs something else is inspected each time: the files do not show why.
            seen = (
                inspected
                and inspected.sides[number]["fingerprint"]
                and not (inspected.unknown or inspected.work.cost)
            )
            if used := pair.used.get(side):
                self._noted[side].append((trial.name if seen or skipped else "", skipped, used))

    def notes(self) -> list[str]:
        """Return a note on the benchmarks that are known from files, if there are any."""
        if not self.known:
            return []
        what = units.count(len(self.trials) - len(self.remaining), "benchmark")
        return [f"compared by their files alone, which an earlier run noted: {self.known} of {what}"]


def counted(result: Result, base: Prepared, head: Prepared, plan: Plan, listener: Listener) -> Result:
    """Return a result with the instructions of a call, of benchmarks whose sides do not run the same code."""
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
                both = pair.count(Trial(name))
                if not isinstance(both, NotTimed):
                    changes[name] = InstructionChange.between(*both)
                elif not pair.broken:
                    notes.append(f"instructions not counted: {name}: {both.text}")
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
