"""What one call of a benchmark does on both sides, and whether both run the same code."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ... import codec
from ...measure.counter_changes import CounterChange, between
from ...measure.fingerprint.difference import Difference
from ...measure.fingerprint.fingerprint import Fingerprint
from ..comparison import Work
from ..memory import MemoryChange, Peaks


@dataclass(frozen=True)
class Inspections:
    """The inspections of one benchmark on both sides."""

    counters: tuple[CounterChange, ...] = ()
    """Counts that differ; none if a side was not counted."""
    difference: Difference | None = None
    """What differs between the fingerprints; None: a side has none."""
    unseen: str | None = None
    """Why a side has no fingerprint."""
    sides: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)
    """What the workers of base and head answered; empty: this was read from a result."""
    memory: MemoryChange | None = None
    """None: a side has no peak, or both run the same code."""

    @property
    def work(self) -> Work:
        """What differs."""
        return Work(self.difference, self.counters, self.unseen)

    @property
    def same_code(self) -> bool:
        """Whether both sides run the same code on the same kind of input with the same settings."""
        return self.difference is not None and not self.difference

    @classmethod
    def of(cls, base: Mapping[str, Any], head: Mapping[str, Any]) -> "Inspections":
        """Compare what both workers answered to `inspect`."""
        counts = base["counts"], head["counts"]
        unseen = base["unseen"] or head["unseen"]
        difference = None
        if not unseen:
            difference = Difference.between(
                *(codec.decode(one["fingerprint"], Fingerprint) for one in (base, head))
            )
        memory = MemoryChange.between(*(Peaks.of(one.get("memory")) for one in (base, head)))
        if difference is not None and not difference:
            memory = None
        changes = between(*counts) if all(counts) else ()
        return cls(changes, difference, unseen, (base, head), memory)

    def as_json(self) -> dict[str, Any]:
        """Return the fields of a benchmark in the result of `gnnbench ab`, see docs/formats.md."""
        memory = self.memory and self.memory.as_json()
        return {**self.work.as_json(), "memory": memory}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> "Inspections":
        """Read what `as_json` returned; older results have counters only."""
        work = Work.from_json(saved)
        memory = MemoryChange.from_json(saved.get("memory"))
        return cls(work.counters, work.difference, work.unseen, memory=memory)
