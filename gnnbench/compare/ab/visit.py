"""What a pair of processes, one of each side, measured in turns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Visit:
    """One benchmark in one pair: blocks of rounds, taken in turns, the inputs renewed between them."""

    base_ns: tuple[float, ...]
    """Of each block of the older side, the median time of one call."""
    head_ns: tuple[float, ...]
    """The same of the newer side; as many, in the order in which they were taken."""
    rounds: int
    """Timed on each side, all blocks together."""
    seconds: float
    """That it took altogether: set-up, calibration and tear-down of both sides too."""


@dataclass(frozen=True)
class NotTimed:
    """Why a benchmark was not timed in a pair."""

    kind: Literal["skipped", "no benchmark", "failed"]
    """Whether both sides skip it, or neither calls `benchmark`; "failed" is everything else."""
    text: str
    """In a line, naming the side."""


@dataclass(frozen=True)
class Pair:
    """One fresh process of each side."""

    start_seconds: float
    """That it took until both were ready."""
    visits: Mapping[str, Visit] = field(default_factory=dict)
    """By benchmark."""
    failures: Mapping[str, NotTimed] = field(default_factory=dict)
    """Benchmarks that could not be measured in it."""
