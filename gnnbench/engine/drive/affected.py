"""The benchmarks that a change affects: two variants run different code for them. Nothing is timed."""

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
from ..process.variants.collected import Suite
from ..process.variants.variant import Prepared
from .inspecting import Inspecting
from .result import Result, Side
from .settle import settled

FORMAT_VERSION = 1


@dataclass(frozen=True)
class AffectedResult:
    """All benchmarks in the order of collection, except benchmarks that both sides skip."""

    base: Side
    head: Side
    benchmarks: Mapping[str, Inspections]
    seconds: float
    notes: tuple[str, ...] = ()
    command: str = "affected"
    version: int = FORMAT_VERSION
    failing: Collection[str] = ()
    """Benchmarks that fail on the head alone."""

    def worse(self, thresholds: Thresholds) -> list[str]:
        """Return the benchmarks with a failure, a different output or more memory that nothing excuses."""
        rows = [
            Compared(name, Judgement("undecided", "not timed"), None, memory=row.memory, results=row.results)
            for name, row in self.benchmarks.items()
        ]
        result = settled(Result("ab", self.base, self.head, Comparison(rows), thresholds))
        return [row.fullname for row in result.rows if row.is_worse or row.fullname in self.failing]

    def named(self, status: Status) -> dict[str, Inspections]:
        """Return the benchmarks with a status."""
        return {name: row for name, row in self.benchmarks.items() if row.status == status}


def run(
    base: Prepared,
    head: Prepared,
    plan: Plan,
    listener: Listener,
    only: Sequence[str] | None = None,
) -> AffectedResult:
    """Inspect one call of each benchmark on both sides, in one pair of processes, or in more if a side dies.

    `only`: ids of benchmarks. If None, all are inspected.
    """
    start = RealTime.seconds()

    def choose(suite: Suite) -> Sequence[str]:
        return [name for name in suite.chosen() if only is None or name in only]

    with Pairs(plan, listener) as pairs:
        inspecting = Inspecting(pairs, PairSettings(base, head), listener, choose)
        inspecting.run()
    inspected = [trial for trial in inspecting.trials.values() if trial.is_inspected]
    benchmarks, skipped = {}, []
    for trial in inspected:
        why = trial.not_timed
        if not why:
            benchmarks[trial.name] = trial.inspections or Inspections()
        elif why.kind in ("died", "incomparable", "head fails", "failed"):
            benchmarks[trial.name] = Inspections(failed=why.text)
        else:
            skipped.append(why.text)
    notes = [*inspecting.suite.notes(all_named=only is not None), *inspecting.notes()]
    notes += dict.fromkeys(note for row in benchmarks.values() for note in row.notes)
    notes += outcome.skips(skipped, outcome.BOTH_SKIP)
    failing = [trial.name for trial in inspected if trial.not_timed and trial.not_timed.kind == "head fails"]
    seconds = RealTime.seconds() - start
    return AffectedResult(Side.of(base), Side.of(head), benchmarks, seconds, tuple(notes), failing=failing)
