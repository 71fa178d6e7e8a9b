"""The result of `gnnbench ab`."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...shard import Shard
from ...variants.prepare import Prepared
from .. import accepted
from ..acceptance import Acceptance
from ..comparison import Allowed, Compared, Comparison
from ..ignored import ignored
from ..instructions import InstructionChange
from ..repeat import Repeat
from ..revision import Revision
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
    allowed: Mapping[str, Allowed] = field(default_factory=dict)
    """What is accepted, of the benchmarks for which an accepted slowdown is in force."""

    excused: Mapping[str, str] = field(default_factory=dict)
    """Why more memory is accepted, of the benchmarks whose memory is."""
    instructions: Mapping[str, InstructionChange] = field(default_factory=dict)
    """By benchmark, with --instructions; those that run the same code on both sides were not counted."""
    contention_share: float | None = None
    """The fraction of CPU time that other programs used during the run; None: a simulated machine."""

    def accepting(self, acceptance: Acceptance) -> "AbResult":
        """Return the result with the accepted slowdowns, and notes on them."""
        sides = Revision.of(self.base), Revision.of(self.head)
        rows = acceptance.judge(Comparison(self.rows(), None), self.thresholds, lambda _: sides).rows
        return replace(
            self,
            decisions={
                row.fullname: replace(self.decisions[row.fullname], judgement=row.judgement) for row in rows
            },
            allowed={row.fullname: row.allowed for row in rows if row.allowed},
            excused={row.fullname: row.memory.excused for row in rows if row.memory and row.memory.excused},
            notes=(*self.notes, *acceptance.lines()),
        )

    def comparison(self) -> Comparison:
        """Return the form that verdict tables take; the rules of the thresholds are applied."""
        return ignored(Comparison(self.rows(), None), self.thresholds.rules)

    def rows(self) -> list[Compared]:
        """Return the benchmarks with the verdicts that were measured."""
        rows = []
        for name, decision in self.decisions.items():
            allowed = self.allowed.get(name)
            inspected = self.inspections.get(name, Inspections())
            work = replace(inspected.work, instructions=self.instructions.get(name))
            notes = (*accepted.notes(decision.judgement, allowed), *work.notes())
            nanoseconds = self.head_ns.get(name)
            seconds = None if nanoseconds is None else nanoseconds / 1e9
            memory = inspected.memory
            if memory and name in self.excused:
                memory = replace(memory, excused=self.excused[name])
            rows.append(
                Compared(
                    name,
                    decision.judgement,
                    seconds,
                    notes=notes,
                    work=work,
                    allowed=allowed,
                    memory=memory,
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
        name, judgement, allowed = row.fullname, row.judgement, row.allowed
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
            "accepted": allowed and allowed.as_json(),
            **inspections.as_json(),
            "instructions": None if (counted := row.work.instructions) is None else counted.as_json(),
            "memory": row.memory and row.memory.as_json(),  # a rule may excuse it
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
