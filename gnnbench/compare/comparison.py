"""The verdicts of two sides, benchmark by benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    """Changed counters, changed share of slow layouts."""
    spec: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Comparison:
    """All benchmarks of two sides; `shared` as in `two_sample.JudgedRun`."""

    rows: list[Compared]
    shared: Judgement | None
