"""Inspects benchmarks on both sides, or counts their instructions, without timing them."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ..ground import units
from ..ground.cpu import RealTime
from ..judge.comparison import Work
from ..judge.instructions import InstructionChange
from ..judge.visit import Inspections, NotTimed
from ..measure.fingerprint.difference import Difference
from ..measure.instructions.counting import counter_name
from ..process.pairs import Pairs, Workers
from ..process.processes import Setting, Terms
from ..process.unchanged.known import Known, Unchanged
from ..process.variants.child import SIDES
from ..process.variants.collected import Suite
from ..process.variants.command import Listener
from ..process.variants.prepare import Prepared
from .alone import confirmed
from .result import Result

ANSWER_SECONDS = 1800.0
"""Under callgrind, an import of torch and PyG takes half a minute of processor time."""
_SAME = Inspections(Work(Difference()))


class Inspecting:
    """What inspections found so far, also after an interruption; what files show to be unchanged is left out.

    Args:
        choose: says which benchmarks of a suite are inspected, the most important first.
    """

    def __init__(
        self, pairs: Pairs, terms: Terms, listener: Listener, choose: Callable[[Suite], Sequence[str]]
    ) -> None:
        self._pairs, self._terms, self._listener, self._choose = pairs, terms, listener, choose
        setting = pairs.shared.setting
        self._unchanged = Unchanged(terms.base, terms.head, setting.arguments, setting.folder, setting.cache)
        self.suite = Suite()
        self.names: Sequence[str] = ()
        self.found: dict[str, Inspections | NotTimed] = {}
        """By benchmark: what differs, or why it was not inspected."""
        self.known = 0
        """How many of them are known from files."""

    def run(self, at_most_seconds: float = math.inf) -> None:
        """Inspect one call of each benchmark, in one pair of processes if any is needed.

        If a side dies, the remaining benchmarks are inspected in a new pair.

        Args:
            at_most_seconds: after this time those that are left are not inspected; one is always.
        """
        end = RealTime.seconds() + at_most_seconds
        self.take_known()
        broken = not self.names or len(self.found) < len(self.names)
        while broken:
            terms = replace(self._terms, untimed=True)
            with self._pairs.started(terms) as workers, self._kept(workers):
                self.suite = workers.suite
                self.names = self._choose(workers.suite)
                self._inspect_left(workers, end)
            broken = workers.broken is not None and self._pairs.shared.left_seconds() > 0
            if self.names:
                workers.check_trees()
        self.found |= confirmed(self._terms, self._pairs.shared, self._listener, self.found)

    def take_known(self) -> Known:
        """Take the benchmarks that run the same code as files show."""
        known = self._unchanged.known()
        if not known.collected:
            return known
        self.suite = Suite(known.collected, known.collected)
        self.names = self._choose(self.suite)
        for name in self.names:
            if reason := known.skipped.get(name):
                self.found[name] = NotTimed("skipped", reason, SIDES)
            elif name in known.skipped:
                self.found[name] = self._terms.inspections[name] = _SAME
        self.known = len(self.found)
        return known

    def _inspect_left(self, workers: Workers, end: float) -> None:
        for number, name in enumerate(self.names, 1):
            if name in self.found:
                continue
            if RealTime.seconds() > end and len(self.found) > self.known:
                break
            self._listener.step(f"inspecting benchmark {number} of {len(self.names)}: {name}")
            start = RealTime.seconds()
            one = workers.inspect(name)
            if workers.broken and self._pairs.shared.left_seconds() <= 0:
                break
            self.found[name] = one
            if workers.broken:
                self._listener.say(f"{name}: {workers.broken}; restarting both sides")
                break
            self._note(workers, name, one, RealTime.seconds() - start)

    @contextmanager
    def _kept(self, workers: Workers) -> Iterator[None]:
        """Keep what the processes use, also if they end early, but not if they use nothing of a variant."""
        self._unchanged.begin(workers.collected)
        try:
            yield
        finally:
            if not workers.why_unused():
                self._unchanged.keep()

    def _note(self, workers: Workers, name: str, found: Inspections | NotTimed, seconds: float) -> None:
        skipped = found.text if isinstance(found, NotTimed) and found.kind == "skipped" else ""
        for number, side in enumerate(SIDES):
            # What costs something else is inspected each time: the files do not show why.
            seen = (
                isinstance(found, Inspections)
                and found.sides[number]["fingerprint"]
                and not (found.unknown or found.work.cost)
            )
            if used := workers.used.get(side):
                known = name if seen or skipped else ""
                self._unchanged.add(side, known, used, seconds, skipped)

    def notes(self) -> list[str]:
        """Return a note on the benchmarks that are known from files, if there are any."""
        if not self.known:
            return []
        what = units.count(len(self.found), "benchmark")
        return [f"known from the files that an earlier run used, without a process: {self.known} of {what}"]


def counted(found: Result, base: Prepared, head: Prepared, setting: Setting, listener: Listener) -> Result:
    """Return a result with the instructions of a call, of benchmarks whose sides do not run the same code."""
    names = [row.fullname for row in found.rows if not row.judgement.same_code]
    if not names:
        return found
    changes: dict[str, InstructionChange] = {}
    notes: list[str] = []
    counter, setting = counter_name(), replace(setting, timeout_seconds=ANSWER_SECONDS)
    with Pairs(setting, listener) as pairs:
        terms = Terms(base, head, counter=counter, about=f"under {counter}: ", spared=SIDES)
        with pairs.started(terms) as workers:
            for number, name in enumerate(names, 1):
                if workers.broken:
                    break
                listener.step(f"counting instructions of benchmark {number} of {len(names)}: {name}")
                both = workers.count(name)
                if not isinstance(both, NotTimed):
                    changes[name] = InstructionChange.between(*both)
                elif not workers.broken:
                    notes.append(f"instructions not counted: {name}: {both.text}")
        if changes:
            workers.check_trees()
    if workers.broken:
        left = len(names) - len(changes) - len(notes)
        notes.append(f"instructions of {left} benchmarks not counted: {workers.broken}")
    rows = []
    for row in found.rows:
        work = replace(row.work, instructions=changes.get(row.fullname))
        rows.append(replace(row, work=work, notes=work.notes()))
    comparison = replace(found.comparison, rows=rows)
    return replace(found, comparison=comparison, notes=(*found.notes, *notes))
