"""The verdicts of two sides, benchmark by benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..measure.fingerprint.difference import Difference
from .verdict import Judgement


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
