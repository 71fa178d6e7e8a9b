"""What one call of a benchmark does on both sides, and whether both run the same code."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...measure.fingerprint.difference import Difference
from ...measure.fingerprint.fingerprint import Fingerprint
from ..comparison import notes_on_work


@dataclass(frozen=True)
class CounterChange:
    """A count that differs between the sides."""

    name: str
    base: int
    head: int


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

    @property
    def same_code(self) -> bool:
        """Whether both sides run the same code on the same kind of input with the same settings."""
        return self.difference is not None and not self.difference

    @classmethod
    def of(cls, base: Mapping[str, Any], head: Mapping[str, Any]) -> "Inspections":
        """Compare what both workers answered to `inspect`."""
        counts = base["counts"], head["counts"]
        names = sorted({*counts[0], *counts[1]}) if all(counts) else ()
        pairs = (CounterChange(name, *(one.get(name, 0) for one in counts)) for name in names)
        unseen = base["unseen"] or head["unseen"]
        difference = None
        if not unseen:
            difference = Difference.between(
                *(Fingerprint.from_json(one["fingerprint"]) for one in (base, head))
            )
        return cls(tuple(one for one in pairs if one.base != one.head), difference, unseen, (base, head))

    def as_json(self) -> dict[str, Any]:
        """Return the fields of a benchmark in the result of `gnnbench ab`, see docs/formats.md."""
        return {
            "counters": [asdict(change) for change in self.counters],
            "changed": None if self.difference is None else self.difference.as_json(),
            "no_fingerprint": self.unseen,
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> "Inspections":
        """Read what `as_json` returned; older results have counters only."""
        changed = saved.get("changed")
        return cls(
            tuple(CounterChange(**change) for change in saved["counters"]),
            None if changed is None else Difference.from_json(changed),
            saved.get("no_fingerprint"),
        )

    def notes(self) -> tuple[str, ...]:
        """Return the notes of verdict tables on code and counts that differ, if any does."""
        changed = [f"{change.head - change.base:+} {change.name}" for change in self.counters]
        return notes_on_work(self.difference, changed)
