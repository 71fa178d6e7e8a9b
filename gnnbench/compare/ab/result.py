"""The result of `gnnbench ab`."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...results.accepted import Accepted
from ...shard import Shard
from ...variants.prepare import Prepared
from ..comparison import Compared, Comparison
from ..instructions import InstructionChange
from ..repeat import Repeat
from ..revision import Revision
from ..settle import settle
from ..verdict import Thresholds
from .inspections import Inspections
from .schedule import Decision

FORMAT_VERSION = 1


@dataclass(frozen=True)
class AbResult:
    """All benchmarks of a run, in the order of collection."""

    base: Prepared
    head: Prepared
    thresholds: Thresholds
    environment: Mapping[str, Any]
    decisions: Mapping[str, Decision]
    inspections: Mapping[str, Inspections]
    """What one call does on both sides, of the benchmarks that were inspected."""
    head_ns: Mapping[str, float]
    """The head's time, of the benchmarks that were measured."""
    seconds: float
    interrupted: bool = False
    notes: tuple[str, ...] = ()
    """Notes on the whole result."""
    shard: Shard | None = None
    """The shard that was timed; None: all benchmarks."""
    needed_seconds: float = 0.0
    """Time for more pairs than a verdict needs at least, of all benchmarks, by the costs so far."""
    repeat: Repeat | None = None
    """What commands need that time the benchmarks again; None: unknown."""
    settled: Comparison | None = None
    """The verdicts with what is accepted and ignored; None: see `settle`."""
    instructions: Mapping[str, InstructionChange] = field(default_factory=dict)
    """By benchmark, with --instructions; those that run the same code on both sides were not counted."""
    contention_share: float | None = None
    """The fraction of CPU time that other programs used during the run; None: a simulated machine."""

    def settle(self, accepted: Accepted) -> "AbResult":
        """Return the result with what is accepted and ignored, and notes on that."""
        sides = Revision.of(self.base), Revision.of(self.head)
        raw = Comparison(self.rows(), None)
        settled, lines = settle(raw, self.thresholds, accepted, lambda _: sides)
        return replace(self, settled=settled, notes=(*self.notes, *lines))

    def comparison(self) -> Comparison:
        """Return the form that verdict tables take."""
        return self.settled or Comparison(self.rows(), None)

    def rows(self) -> list[Compared]:
        """Return the benchmarks with the verdicts that were measured."""
        rows = []
        for name, decision in self.decisions.items():
            inspected = self.inspections.get(name, Inspections())
            work = replace(inspected.work, instructions=self.instructions.get(name))
            nanoseconds = self.head_ns.get(name)
            rows.append(
                Compared(
                    name,
                    decision.judgement,
                    None if nanoseconds is None else nanoseconds / 1e9,
                    notes=work.notes(),
                    work=work,
                    memory=inspected.memory,
                )
            )
        return rows

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form, see docs/formats.md."""
        rows = self.comparison().rows
        verdicts = Counter(row.judgement.verdict for row in rows)
        levels = {"simultaneous": self.thresholds.family_level, "own": self.thresholds.own_level}
        return {
            "version": FORMAT_VERSION,
            "base": side_json(self.base),
            "head": side_json(self.head),
            "environment": dict(self.environment),
            "level": levels,
            "effect": self.thresholds.effect,
            "benchmarks": [self._benchmark(row) for row in rows],
            "summary": dict(sorted(verdicts.items())),
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "shard": str(self.shard) if self.shard else None,
            "others_share": self.contention_share,
            "notes": list(self.notes),
            "repeat": self.repeat and self.repeat.as_json(),
            "settings": self.thresholds.rules.as_json("ab"),
        }

    def _benchmark(self, row: Compared) -> dict[str, Any]:
        name, judgement = row.fullname, row.judgement
        decision = self.decisions[name]
        inspections = self.inspections.get(name, Inspections())
        return {
            "id": name,
            "verdict": judgement.verdict,
            "reason": judgement.reason,
            "same_code": judgement.same_code,
            "head_ns": self.head_ns.get(name),
            "ratio": judgement.ratio,
            "low": judgement.low,
            "high": judgement.high,
            "own_low": judgement.own_low,
            "own_high": judgement.own_high,
            "smallest_effect": judgement.minimum_detectable_effect,
            "rounds": {"base": decision.rounds, "head": decision.rounds},
            "layouts": decision.layouts,
            "pairs": decision.pairs,
            "set_aside": decision.excluded,
            "seconds": round(decision.seconds, 3),
            "accepted": row.allowed and row.allowed.as_json(),
            **inspections.as_json(),
            "instructions": None if (counted := row.work.instructions) is None else counted.as_json(),
            "memory": row.memory and row.memory.as_json(),
        }


def side_json(prepared: Prepared) -> dict[str, Any]:
    """Return the JSON form of one side of a result."""
    return {
        "variant": prepared.text,
        "commit": prepared.commit,
        "dirty": prepared.dirty,
        "checkouts": dict(prepared.checkouts),
        "versions": dict(prepared.versions),
        "variables": dict(prepared.environment),
    }
