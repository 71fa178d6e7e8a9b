"""Steps in one series: runs from which on times, or peak memory, differ from those before."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import special, stats

from ..memory import MemoryChange
from . import noise
from .history import Series
from .noise import Array
from .penalty import penalties

SHORTEST = 5
"""Least number of runs of a level; fewer may be outliers."""
SHORTEST_SERIES = 12
"""Least number of runs of a series that is examined."""
_OWN = 1.96
"""Standard errors on each side of a 95 % interval."""
_MEDIAN = 1.2533
"""Standard error of the median / of the mean, for a normal distribution."""
_DROP = 3.68
"""A place is in the 95 % range of a step if its log likelihood is at most this much below the largest.

For a small step, the lead of the likeliest place over the true one is the larger of two independent
exponential variables: (1 - exp(-x))^2 = 0.95 (Siegmund, International Statistical Review 1988)."""
_ENOUGH, _NOISIER = 10, 1.5
"""The noise of a level of so many runs counts if it is so many times that of the series."""
_MOST_EXPLAINED = 1 - 1e-12
"""Largest explained share of variance, to keep the likelihood ratio finite."""


@dataclass(frozen=True)
class Step:
    """A step; runs are indices of the history's runs."""

    previous: int
    """Last run that is surely before the step (95 %)."""
    first: int
    """Start of the 95 % range of `at`."""
    at: int
    """First run of the new level."""
    last: int
    """End of the 95 % range of `at`."""
    before_ns: float
    """Median time before the step, from the one before it; `after_ns`: until the next one."""
    after_ns: float
    low: float
    """Lower bound of the ratio's 95 % interval; `high` is the upper one."""
    high: float

    @property
    def ratio(self) -> float:
        """Time after / before."""
        return self.after_ns / self.before_ns

    @property
    def slower(self) -> bool:
        """Whether times became longer."""
        return self.after_ns > self.before_ns

    def matters(self, effect: float) -> bool:
        """Tell whether the step is at least the minimum effect of interest."""
        return abs(math.log(self.ratio)) >= math.log1p(effect)


@dataclass(frozen=True)
class MemoryStep:
    """A change of the peak memory; runs are indices of the history's runs."""

    previous: int
    """Last run before the change."""
    at: int
    """First run with the new peak."""
    change: MemoryChange


def of_memory(series: Series) -> list[MemoryStep]:
    """Find the changes of a peak by at least 1 % and 64 KiB: peaks are exact, so that two runs are enough.

    Each run is compared with the first one since the last change: small changes add up.
    """
    found: list[MemoryStep] = []
    level = series.peaks[0][1] if series.peaks else None
    for (previous, _), (run, here) in pairwise(series.peaks):
        change = MemoryChange.between(level, here)
        if change and change.changed:
            found.append(MemoryStep(previous, run, change))
            level = here
    return found


def of_time(series: Series, level: float) -> list[Step]:
    """Find the steps of the times of a series, in the order of time.

    Args:
        series: of at least SHORTEST_SERIES runs.
        level: false positive rate for a series without steps.
    """
    logs = series.logs
    least, least_of_ranks = penalties(len(logs), level)
    values = noise.winsorized(logs)
    unit = noise.long_run_sd(values)
    places = segment(values / unit, least)

    def strength(start: int, at: int, end: int) -> float:
        """Return by how much the evidence for a step exceeds what is needed."""
        change = values[start:at].mean() - values[at:end].mean()
        squares = (change / _error(logs, unit, start, at, end)) ** 2
        return min(float(squares) - least, by_rank(logs[start:end], at - start) - least_of_ranks)

    while places:
        around = _around(places, len(logs))
        strengths = [strength(*one) for one in around]
        weakest = int(np.argmin(strengths))
        if strengths[weakest] >= 0:
            return [_step(series, values, unit, *one) for one in around]
        del places[weakest]
    return []


def _around(places: list[int], count: int) -> list[tuple[int, int, int]]:
    """Return the start of the level before each step, the step, and the end of the level after it."""
    edges = [0, *places, count]
    return list(zip(edges, edges[1:], edges[2:], strict=False))


def segment(values: Array, penalty: float) -> list[int]:
    """Return the first place of each new level: the segmentation with the least squared error plus penalty.

    Args:
        values: in units of the noise [n], n at least twice `SHORTEST`.
        penalty: cost of each step, in squared units.
    """
    return [int(place) for place in fitted(values, SHORTEST).predict(pen=penalty)[:-1]]


def fitted(values: Array, shortest: int) -> Any:
    """Return the segmentation model of ruptures for levels of at least `shortest` runs."""
    from ruptures import KernelCPD  # slow to import

    return KernelCPD(kernel="linear", min_size=shortest).fit((values - np.median(values))[:, None])


def normal_scores(values: Array) -> Array:
    """Return the normal scores of values: normal quantiles at their ranks [n]."""
    return np.asarray(special.ndtri((stats.rankdata(values) - 0.5) / len(values)))


def by_rank(values: Array, at: int) -> float:
    """Return the rank evidence for a step at a place: twice the log likelihood ratio of normal scores."""
    scores = normal_scores(values)
    between = sum(float(side.sum()) ** 2 / len(side) for side in (scores[:at], scores[at:]))
    whole = float(scores @ scores)
    return -len(values) * math.log1p(-min(between / whole, _MOST_EXPLAINED)) if whole else 0.0


def _error(logs: Array, unit: float, start: int, at: int, end: int) -> float:
    """Return the standard error of the difference of two levels' means."""
    sides = logs[start:at], logs[at:end]
    return math.sqrt(sum(_noise(side, unit) ** 2 / len(side) for side in sides))


def _noise(logs: Array, unit: float) -> float:
    """Return the noise of a level: that of the whole series, if its own is not clearly larger."""
    own = noise.long_run_sd(noise.winsorized(logs)) if len(logs) >= _ENOUGH else 0.0
    return own if own > _NOISIER * unit else unit


def plausible(values: Array) -> tuple[int, int]:
    """Return the first and the last place of the 95 % range of the one step of a stretch.

    Args:
        values: in units of the noise [n], n at least twice `SHORTEST`.
    """
    size = np.arange(1, len(values))
    sums = np.cumsum(values - values.mean())[:-1]
    likelihood = sums**2 * len(values) / (size * size[::-1]) / 2
    likelihood = likelihood[SHORTEST - 1 : len(values) - SHORTEST]
    good = np.flatnonzero(likelihood >= likelihood.max() - _DROP) + SHORTEST
    return int(good[0]), int(good[-1])


def _step(series: Series, values: Array, unit: float, start: int, at: int, end: int) -> Step:
    first, last = (start + place for place in plausible(values[start:end] / unit))
    first, last = min(first, at), max(last, at)
    before, after = (float(np.median(series.logs[side])) for side in (slice(start, at), slice(at, end)))
    reach = _OWN * _MEDIAN * _error(series.logs, unit, start, at, end)
    runs = series.runs.tolist()
    return Step(
        *(runs[first - 1], runs[first], runs[at], runs[last]),
        math.exp(before),
        math.exp(after),
        math.exp(after - before - reach),
        math.exp(after - before + reach),
    )
