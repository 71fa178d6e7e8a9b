"""What a run compares, and how: a driver fills it, and everything below reads it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..ground.options import EFFECT
from ..ground.shard import Shard
from ..judge.verdict import Thresholds


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How pairs of processes run benchmarks, for how long, and how these are judged."""

    arguments: Sequence[str]
    """Pytest's."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Of gnnbench's options of pytest that the arguments do not have, as they would be typed, by key."""
    folder: Path
    """Pytest's working directory: the caller's tree, whose benchmarks both sides run."""
    timeout_seconds: float
    """A process that does not answer for so long is given up."""
    seed: int = 0
    """Seeds the order of sides and of benchmarks."""
    time_all: bool = False
    """Whether benchmarks are timed although both sides run the same code."""
    results: bool = False
    """Whether results are compared where the code differs."""
    cache: Path | None = None
    """The cache folder, in which is kept what benchmarks use. None: it is not kept."""
    dependencies: bool = False
    """Whether each side has its own dependencies."""
    build: str = ""
    """The command that builds each side. Empty: nothing does."""
    thresholds: Thresholds = field(default_factory=lambda: Thresholds(EFFECT))
    per_benchmark_seconds: float = math.inf
    """Average time of a benchmark; the limit is that of all together."""
    total_seconds: float = math.inf
    """Limit of the time of all together."""
    total_option: str = "--total-budget"
    """The option that sets `total_seconds`, for messages."""
    shard: Shard | None = None
    """The part of the benchmarks to time, to which the thresholds apply. None: all."""
    only: Sequence[str] | None = None
    """Ids of the benchmarks to time, the most important first. None: all."""
    options: tuple[str, ...] = ()
    """Options of `gnnbench ab` that a command which compares again must have too."""
