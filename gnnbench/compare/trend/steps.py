"""Steps in one series: runs from which on times, or peak memory, differ from those before."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import ndimage, special, stats

from ..memory import MemoryChange
from .history import Array, Series

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
LEAST = 0.001
"""Lower limit for the standard deviation of a log time."""
_REACH = 4
"""Runs on each side whose median is the centre for winsorizing; a level of one run more is no outlier."""
_WINSORIZED = 2.5
"""Values farther than this many standard deviations from that median are winsorized."""
_CLIP = 3.0
"""Limit for differences of successive runs, in standard deviations."""
_MOST_DEPENDENCE = 0.7
_USUAL_DEPENDENCE, _USUAL_RUNS = 0.25, 40
"""Prior mean of the correlation of successive runs, and its weight in runs."""
_MAD = 1.4826
"""Standard deviation / median absolute deviation, for a normal distribution."""
TAIL = 0.05
"""Share of series in which the strongest step exceeds the thresholds of `TAILS`."""
TAILS = {
    12: (5.1554, 2.3665, 0.0000, 0.0000),
    15: (6.3812, 2.7031, 0.0000, 0.0000),
    19: (7.3917, 3.2866, 5.3750, 1.4305),
    24: (8.2039, 3.4043, 6.4207, 1.5594),
    30: (9.1477, 3.6834, 7.2330, 1.6059),
    38: (9.8810, 3.7303, 7.8490, 1.8533),
    48: (10.2016, 3.6338, 8.2858, 1.6301),
    60: (10.3419, 4.1971, 9.2181, 2.0834),
    75: (11.0877, 3.6447, 9.5263, 2.5272),
    94: (11.7113, 4.0790, 10.2422, 2.1859),
    118: (12.0115, 4.0336, 10.2099, 2.1959),
    148: (12.2258, 3.4500, 10.7549, 2.2618),
    185: (12.5326, 3.8730, 11.3646, 2.5004),
    232: (12.4251, 3.2778, 12.1118, 2.3594),
    290: (13.1218, 3.5817, 12.2763, 2.7413),
    363: (12.9942, 3.1097, 12.1823, 2.0887),
    454: (13.7001, 2.8443, 12.9134, 2.0544),
    568: (13.6747, 2.7493, 13.3707, 2.6402),
    710: (13.7670, 2.7612, 13.5200, 2.3669),
    888: (13.3308, 2.2313, 14.1068, 2.5289),
    1110: (13.8885, 2.5953, 13.7082, 2.8981),
    1388: (14.2478, 2.3348, 14.6327, 2.2688),
    1735: (14.3263, 2.1126, 14.9474, 2.2666),
    2169: (14.6623, 2.9159, 15.2894, 2.4951),
    2712: (15.2422, 2.1207, 16.2782, 2.4528),
}
"""By number of runs: threshold of the step's squared error, mean excess over it, both of its rank evidence.

`experiments/trend/penalties.py` simulates them. Above the thresholds, evidence is distributed exponentially.
Other lengths use the next longer one.
"""
LONGEST = max(TAILS)


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
    values = winsorized(logs)
    unit = long_run_sd(values)
    # The segmentation with the least squared error plus penalty: the first place of each new level.
    places = [int(place) for place in fitted(values / unit, SHORTEST).predict(pen=least)[:-1]]

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


def winsorized(logs: Array) -> Array:
    """Return log times with winsorized outliers [n]."""
    middle = ndimage.median_filter(logs, size=2 * _REACH + 1, mode="mirror")
    most = _WINSORIZED * max(_spread(np.diff(logs)) / np.sqrt(2), LEAST)
    return np.asarray(middle + np.clip(logs - middle, -most, most))


def long_run_sd(values: Array) -> float:
    """Return the root of the long-run variance of winsorized log times, as of an autoregressive process.

    Differences over two runs have (1 + r) times the variance of differences over one, if r is the correlation
    of successive runs (Chakar, Lebarbier, Lévy-Leduc and Robin, Bernoulli 2017, here with clipped squares
    instead of medians).

    Args:
        values: [n], n at least 4.
    """
    near, far = values[1:] - values[:-1], values[2:] - values[:-2]
    most = _CLIP * max(_spread(near), LEAST)
    squares = [float(np.mean(np.clip(part, -most, most) ** 2)) for part in (near, far)]
    dependence = squares[1] / squares[0] - 1 if squares[0] else 0.0
    own = len(values) / (len(values) + _USUAL_RUNS)
    dependence = own * dependence + (1 - own) * _USUAL_DEPENDENCE
    dependence = min(max(dependence, 0.0), _MOST_DEPENDENCE)
    sd = max(float(np.sqrt(squares[0] / 2 / (1 - dependence))), LEAST)
    return sd * float(np.sqrt((1 + dependence) / (1 - dependence)))


def _spread(differences: Array) -> float:
    return _MAD * float(np.median(np.abs(differences)))


def penalties(runs: int, level: float) -> tuple[float, float]:
    """Return what the strongest step of a series without steps exceeds with probability `level`.

    Args:
        runs: number of runs, at least 1.
        level: below `TAIL`.

    Returns:
        The reduction of the squared error, in units of the noise's long-run variance, and the rank evidence.
    """
    squares, excess, ranks, excess_of_ranks = next(
        (tail for length, tail in TAILS.items() if runs <= length), TAILS[LONGEST]
    )
    excesses = math.log(TAIL / level)
    longer = 2 * math.log(max(runs / LONGEST, 1))  # more than the thresholds grow
    return squares + excess * excesses + longer, ranks + excess_of_ranks * excesses + longer


def _error(logs: Array, unit: float, start: int, at: int, end: int) -> float:
    """Return the standard error of the difference of two levels' means."""
    sides = logs[start:at], logs[at:end]
    return math.sqrt(sum(_noise(side, unit) ** 2 / len(side) for side in sides))


def _noise(logs: Array, unit: float) -> float:
    """Return the noise of a level: that of the whole series, if its own is not clearly larger."""
    own = long_run_sd(winsorized(logs)) if len(logs) >= _ENOUGH else 0.0
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
