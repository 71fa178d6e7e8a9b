"""The measurements of a pair of processes, one per side, which take turns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Visit:
    """One benchmark in one pair: blocks of rounds in turns; each block has new copies of the inputs."""

    base_ns: tuple[float, ...]
    """Median time of one call in each block of the base."""
    head_ns: tuple[float, ...]
    """The same for the head; as many, in the order of measurement."""
    rounds: int
    """Number of rounds of each side, over all blocks."""
    seconds: float
    """Total duration, with set-up, calibration and tear-down of both sides."""


@dataclass(frozen=True)
class NotTimed:
    """Why a benchmark was not timed in a pair."""

    kind: Literal["same code", "skipped", "no benchmark", "failed"]
    """Both sides run the same code, both skip it, neither calls `benchmark`, or anything else ("failed")."""
    text: str
    """One line; of a failure, it names the side."""
    sides: tuple[str, ...] = field(default=(), compare=False)
    """The sides that failed, skipped, or have no benchmark."""


@dataclass(frozen=True)
class Pair:
    """One fresh process of each side."""

    start_seconds: float
    """Time until both were ready."""
    visits: Mapping[str, Visit] = field(default_factory=dict)
    """By benchmark."""
    failures: Mapping[str, NotTimed] = field(default_factory=dict)
    """By benchmark; those that this pair did not time."""
    settled_seconds: float = 0.0
    """Time for benchmarks that need no timing: both sides skip them, or run the same code."""
