"""What one pair of processes says of a candidate."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ab.visit import Pair, Visit, sample
from .posterior import PAIR_VARIANCE, Observation


@dataclass(frozen=True)
class Seen:
    """What one call of a benchmark runs."""

    code: str | None
    """Hash of its fingerprint; None: it has none."""
    counts: str
    """What it counts; equal texts are equal counts."""

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> "Seen":
        """Take what a worker answered to `inspect`."""
        fingerprint = answer["fingerprint"]
        code = f"{fingerprint['code']} {fingerprint['settings']}" if fingerprint else None
        return cls(code, " ".join(f"{name}={number}" for name, number in sorted(answer["counts"].items())))


@dataclass(frozen=True)
class Measured(Pair):
    """What a pair of processes, candidate 0 and another one, has said."""

    position: int = 0
    """Of the other one."""
    ends: bool = False
    """Whether it was one of the pairs that tell whether the ends differ."""
    broken: str | None = None
    """Why nothing can be measured here; None: something can."""
    seen: Mapping[str, tuple[Seen, Seen]] = field(default_factory=dict)
    """By benchmark, what candidate 0 and this one run, of those that were inspected."""

    @property
    def seconds(self) -> float:
        """Duration of the pair."""
        return self.start_seconds + self.settled_seconds + sum(one.seconds for one in self.visits.values())


def observation(position: int, visit: Visit) -> Observation:
    """Return the log ratio of a visit and the variance of the noise within it.

    It is the mean of the two estimates of `sample`, weighted so that its variance is smallest.
    """
    found = sample(visit)
    (of_location, shared), (_, of_turns) = found.noise
    both = of_location + of_turns - 2 * shared
    if not np.isfinite(both):
        return Observation(position, found.head - found.base, PAIR_VARIANCE)
    share = min(max((of_turns - shared) / both, 0.0), 1.0) if both > 0 else 1.0
    log_ratio = share * (found.head - found.base) + (1 - share) * found.turns
    variance = share**2 * of_location + 2 * share * (1 - share) * shared + (1 - share) ** 2 * of_turns
    return Observation(position, float(log_ratio), float(max(variance, math.ulp(1.0))))
