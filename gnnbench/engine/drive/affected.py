"""Finds the benchmarks that a change affects: two variants run different code for them. Nothing is timed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ..ground.cpu import RealTime
from ..interfaces import Listener
from ..judge.comparison import Compared, Comparison
from ..judge.verdict import Judgement, Thresholds
from ..judge.visit import Inspections, Status
from ..process.pairs import Pairs
from ..process.plan import PairSettings, Plan
from ..process.variants import outcome
from ..process.variants.variant import Prepared
from .inspector import Inspector
from .result import Result, Side
from .settle import apply_excuses

FORMAT_VERSION = 1


@dataclass(frozen=True)
class AffectedResult:
    """The inspections of all benchmarks, in the order of collection, except those that both sides skip."""

    base: Side
    head: Side
    benchmarks: Mapping[str, Inspections]
    seconds: float
    notes: tuple[str, ...] = ()
    command: str = "affected"
    version: int = FORMAT_VERSION
    failing: Collection[str] = ()
    """Benchmarks that fail on the head, but not on the base."""

    def worse(self, thresholds: Thresholds) -> list[str]:
        """Return the benchmarks that fail, have a different output or need more memory, unless excused."""
        return [row.fullname for row in self.rows(thresholds) if row.is_worse or row.fullname in self.failing]

    def rows(self, thresholds: Thresholds) -> Sequence[Compared]:
        """Return the memory and output of each benchmark, with the excuses of the project."""
        rows = [
            Compared(name, Judgement("undecided", "not timed"), None, memory=row.memory, results=row.results)
            for name, row in self.benchmarks.items()
        ]
        return apply_excuses(Result("ab", self.base, self.head, Comparison(rows), thresholds)).rows

    def named(self, status: Status) -> dict[str, Inspections]:
        """Return the inspections with a status, by benchmark."""
        return {name: row for name, row in self.benchmarks.items() if row.status == status}


def run(base: Prepared, head: Prepared, plan: Plan, listener: Listener) -> AffectedResult:
    """Inspect one call of each benchmark that the plan selects, on both sides."""
    start = RealTime.seconds()
    with Pairs(plan, listener) as pairs:
        inspector = Inspector(pairs, PairSettings(base, head), listener)
        inspector.run()
    inspected = [trial for trial in inspector.trials.values() if trial.is_inspected]
    benchmarks, skipped = {}, []
    for trial in inspected:
        if (reason := trial.not_timed) is None:
            benchmarks[trial.name] = trial.inspections
        elif reason.kind in ("died", "incomparable", "head fails", "failed"):
            benchmarks[trial.name] = Inspections(failed=reason.text)
        else:
            skipped.append(reason.text)
    notes = inspector.notes()
    notes += dict.fromkeys(note for row in benchmarks.values() for note in row.notes)
    notes += outcome.skips(skipped, outcome.BOTH_SKIP)
    failing = [trial.name for trial in inspected if trial.not_timed and trial.not_timed.kind == "head fails"]
    seconds = RealTime.seconds() - start
    return AffectedResult(Side.of(base), Side.of(head), benchmarks, seconds, tuple(notes), failing=failing)
