"""What one call of a benchmark does on both sides, and whether both run the same code."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ... import codec
from ...measure.counter_changes import between
from ...measure.fingerprint.difference import Difference
from ...measure.fingerprint.fingerprint import Fingerprint
from ..comparison import Work
from ..memory import MemoryChange, Peaks


@dataclass(frozen=True)
class Inspections:
    """The inspections of one benchmark on both sides."""

    work: Work = field(default_factory=Work)
    """What differs."""
    sides: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)
    """What the workers of base and head answered; empty: this was read from a result."""
    memory: MemoryChange | None = None
    """None: a side has no peak, or both run the same code."""

    @property
    def same_code(self) -> bool:
        """Whether both sides run the same code on the same kind of input with the same settings."""
        return self.work.changed is not None and not self.work.changed

    @classmethod
    def of(cls, base: Mapping[str, Any], head: Mapping[str, Any]) -> "Inspections":
        """Compare what both workers answered to `inspect`."""
        counts = base["counts"], head["counts"]
        unseen = base["unseen"] or head["unseen"]
        difference = None
        if not unseen:
            prints = (codec.decode(one["fingerprint"], Fingerprint) for one in (base, head))
            difference = Difference.between(*prints)
        memory = MemoryChange.between(*(Peaks.of(one.get("memory")) for one in (base, head)))
        if difference is not None and not difference:
            memory = None
        changes = between(*counts) if all(counts) else ()
        return cls(Work(difference, changes, unseen), (base, head), memory)

    def as_json(self) -> dict[str, Any]:
        """Return the fields of a benchmark in saved results, see docs/formats.md."""
        return {**codec.encode(self.work), "memory": codec.encode(self.memory)}
