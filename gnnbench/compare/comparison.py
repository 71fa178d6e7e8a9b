"""The verdicts of two sides, benchmark by benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from .. import json_io
from ..measure.fingerprint.difference import Difference
from .verdict import Judgement


@dataclass(frozen=True)
class Allowed:
    """How much slower a benchmark is meant to be, by the accepted slowdowns that are in force for it."""

    ratio: float
    low: float
    """Lower bound of the interval of `ratio`; `high` is the upper one."""
    high: float
    reasons: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form of docs/formats.md."""
        return {**asdict(self), "reasons": list(self.reasons)}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        """Read what `as_json` returned.

        Raises:
            ValueError: a number is no ratio.
        """
        ratio, low, high = (json_io.positive(saved[name]) for name in ("ratio", "low", "high"))
        return cls(ratio, low, high, tuple(map(str, saved["reasons"])))


@dataclass(frozen=True)
class Compared:
    """One benchmark on both sides."""

    fullname: str
    judgement: Judgement
    seconds: float | None
    """The head's time, the geometric mean of its processes; None: not measured."""
    contended: bool = False
    """Whether no process of the head is known to be free of CPU contention."""
    notes: tuple[str, ...] = ()
    """Changed code, changed counters, changed share of slow layouts."""
    spec: Mapping[str, Any] | None = None
    changed: bool = False
    """Whether the fingerprints of both sides are known, and differ."""
    redefined: str | None = None
    """How the definitions of the benchmark differ, in graph or code; None: they do not."""
    allowed: Allowed | None = None
    """None: no accepted slowdown is in force for it."""


@dataclass(frozen=True)
class Comparison:
    """All benchmarks of two sides; `shared` as in `two_sample.JudgedRun`."""

    rows: list[Compared]
    shared: Judgement | None


def notes_on_work(difference: Difference | None, counters: Sequence[str]) -> tuple[str, ...]:
    """Return the notes on code and counters that changed, if any did.

    Args:
        difference: between the fingerprints of both sides; None: a side has none.
        counters: the changed counters, as in `+4 aten::item`.
    """
    code = (f"code: {difference.sentence()}",) if difference else ()
    return (*code, *((f"counters: {', '.join(counters)}",) if counters else ()))
