"""The plan of a run: what it compares, and how. `drive/` makes plans; the modules of `process/` read them."""

import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..ground.options import EFFECT
from ..ground.shard import Shard
from ..judge.verdict import Thresholds
from .variants.variant import Prepared

_OWN_VARIABLES = "GNNBENCH_"
"""Prefix of gnnbench's own environment variables: other parts of a fingerprint show their effects."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How pairs of processes run benchmarks, for how long, and how the benchmarks are judged."""

    arguments: Sequence[str]
    """Arguments of pytest."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values, as a user would type them, for gnnbench's pytest options that `arguments` does not set."""
    folder: Path
    """The working directory of pytest, in the user's working tree, whose benchmarks both sides run."""
    timeout_seconds: float
    """A process that does not answer for this long is ended."""
    seed: int = 0
    """Seeds the order of sides and of benchmarks."""
    time_all: bool = False
    """Whether benchmarks are timed although both sides run the same code."""
    results: bool = False
    """Whether outputs are compared if the code differs."""
    cache: Path | None = None
    """The folder that stores which files benchmarks use. None: nothing is stored."""
    dependencies: bool = False
    """Whether each side has its own dependencies installed."""
    build: str = ""
    """The command that builds each side; empty if nothing is built."""
    thresholds: Thresholds = field(default_factory=lambda: Thresholds(EFFECT))
    per_benchmark_seconds: float = math.inf
    """Average budget of a benchmark: the run may take this time multiplied by its number of benchmarks."""
    total_seconds: float = math.inf
    """Limit of the time of the whole run."""
    total_option: str = "--total-budget"
    """The option that sets `total_seconds`, for messages."""
    shard: Shard | None = None
    """The part of the benchmarks that is timed and judged. None: all are."""
    only: Sequence[str] | None = None
    """Ids of the benchmarks to time, the most important first. None: all are timed."""
    options: tuple[str, ...] = ()
    """Options that a suggested `gnnbench ab` command must repeat to compare in the same way."""


@dataclass(frozen=True)
class PairSettings:
    """What one pair of processes runs, and for which purpose."""

    base: Prepared
    head: Prepared
    counter: str = ""
    """The program that counts the instructions of both processes (`instructions.counter_name`), or empty."""
    about: str = ""
    """Prefix of each progress message; it says what is measured."""
    spared: Collection[str] = ()
    """The sides whose processes may fail to start."""
    untimed: bool = False
    """Whether nothing is timed; the processes then record which code and files they use."""
    trapped: Collection[str] = ()
    """Libraries in which some functions end the process; if any, each test runs in a process of its own."""

    def differing_variables(self) -> list[str]:
        """Return the environment variables that have different values on the two sides."""
        base, head = ({**os.environ, **side.environment} for side in (self.base, self.head))
        names = (name for name in base.keys() | head.keys() if base.get(name) != head.get(name))
        return sorted(name for name in names if not name.startswith(_OWN_VARIABLES))
