"""The statistics of a bisection: which candidate to measure next, and where a benchmark's time changed.

Candidates are versions of the code in order; candidate 0 is the good end. Each pair of processes times a
candidate against candidate 0. This is a noisy binary search (Burnashev and Zigangirov, Problems of
Information Transmission 10, 1974): each pair measures the most informative candidate. That is one in the
middle of an interval with a change, or one whose level is doubtful. No step counts as certain, so the error
probability is spent only once, at the end of the search.

The level of a candidate is the logarithm of its time / the time of candidate 0. From each candidate to the
next, the level stays the same or jumps to any other level. This is a hidden Markov model on a grid of levels,
whose posterior the forward-backward algorithm gives exactly (Rabiner, Proc. IEEE 77, 1989). A measured log
ratio has normal noise of unknown scale, and is an outlier with an unknown probability. The posterior averages
over both unknowns, so that unusually strong noise delays the answer instead of making it wrong.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from .evidence import USUAL_PAIR_VARIANCE

Array = NDArray[np.float64]

ERROR = 0.01
"""Upper limit of the probability that a wrong commit is named."""
_MISSED = 0.2
"""Once a change is located, the search skips intervals with at most this probability of another change."""
MOST_PAIRS = 16
"""Largest number of pairs that measure the same candidate."""
_SCALES, _SCALE_SPREAD = np.geomspace(0.7, 16, 10), 0.7
"""Possible factors on the usual standard deviation, and the prior standard deviation of their logarithm."""
_OUTLIERS = np.array([0.05, 0.1, 0.3])
"""Possible shares of outliers, equally likely a priori."""
_OUTLIER_SCALE = 0.1
"""Scale of an outlier's log ratio, which has a Cauchy distribution."""
_LEVELS = 200
"""Number of levels on each side of 0."""
_EXPECTED_JUMPS = 0.25
"""Prior expectation of the number of jumps in the whole history."""


@dataclass(frozen=True)
class Observation:
    """The log ratio of a candidate to candidate 0, measured by a pair of processes."""

    position: int
    log_ratio: float
    variance: float
    """Variance of the noise: within and between pairs."""


@dataclass(frozen=True)
class Interval:
    """Two measured candidates, with no measured candidate between them."""

    low: int
    high: int
    changed: float
    """Probability that their levels differ by at least the least change that counts."""
    log_ratio: float
    """Expected difference of their levels if they differ; `bounds` is its 99 % credible interval."""
    bounds: tuple[float, float]


@lru_cache
def posterior(
    last: int,
    observations: tuple[Observation, ...],
    same: tuple[tuple[int, int], ...],
    least: float,
    sign: int,
) -> list[Interval]:
    """Return all intervals between neighbouring measured candidates, from the good end to the bad end.

    `last`: position of the bad end. `same`: pairs of candidates between which nothing changes; they count as
    measured. `least`: the least change of the level that counts. `sign`: 1 if the bad end is slower than the
    good end, -1 if it is faster.
    """
    by_position: dict[int, list[Observation]] = {position: [] for position in (0, *chain(*same))}
    for observation in observations:
        by_position.setdefault(observation.position, []).append(observation)
    positions = sorted(by_position)
    assert positions[-1] == last
    levels = _grid(by_position)
    logs = np.stack([_log_likelihood(levels, by_position[position]) for position in positions])
    logs[0, :, np.arange(len(levels)) != _LEVELS] = -np.inf
    logs[-1, :, levels * sign < least] = -np.inf
    rate = -math.log1p(-_EXPECTED_JUMPS / last)
    pairs = list(pairwise(positions))
    jumps = [
        0.0 if any(first <= low and high <= end for first, end in same) else -math.expm1(rate * (low - high))
        for low, high in pairs
    ]
    changes = zip(pairs, _differences(logs, jumps), strict=True)
    return [_interval(low, high, levels, masses, least) for (low, high), masses in changes]


def _grid(by_position: Mapping[int, Sequence[Observation]]) -> Array:
    """Return equally spaced levels around 0. They reach beyond the levels that observations make likely."""
    ratios = [[row.log_ratio for row in group] for _, group in sorted(by_position.items()) if group]
    centres = [float(np.median(row)) for row in ratios]
    # A single outlier should not make the grid coarse.
    widest = 3 * max(abs(centres[-1]), 5 * math.sqrt(USUAL_PAIR_VARIANCE))
    limit = 1.25 * min(max(map(abs, centres)), widest) + 0.03
    return np.linspace(-limit, limit, 2 * _LEVELS + 1)


def _log_likelihood(levels: Array, observations: Sequence[Observation]) -> Array:
    """Return log likelihoods [settings, levels]. A setting is a scale with a share of outliers."""
    total = np.zeros((len(_SCALES) * len(_OUTLIERS), len(levels)))
    share = _OUTLIERS[None, :, None]
    for observation in observations:
        distance = observation.log_ratio - levels
        deviation = (_SCALES * math.sqrt(observation.variance))[:, None, None]
        normal = np.exp(-((distance / deviation) ** 2) / 2) / deviation / math.sqrt(2 * math.pi)
        outlier = _OUTLIER_SCALE / math.pi / (_OUTLIER_SCALE**2 + distance**2)
        total += np.log((1 - share) * normal + share * outlier).reshape(total.shape)
    return total


def _differences(logs: Array, jumps: Sequence[float]) -> list[Array]:
    """Return the distribution of the difference of levels, for each pair of neighbouring candidates.

    `logs`: log likelihoods [candidates, settings, levels]. `jumps`: probability of a jump between neighbours.
    """
    size = logs.shape[2]
    peaks = logs.max(axis=2)
    likelihood = np.exp(logs - peaks[:, :, None])
    scales = np.log(_SCALES) / _SCALE_SPREAD
    evidence = np.repeat(-(scales**2) / 2, len(_OUTLIERS)) + peaks.sum(axis=0)
    forward, backward = [likelihood[0]], [likelihood[-1]]
    for jump, step in zip(jumps, likelihood[1:], strict=True):
        prior = (1 - jump) * forward[-1] + jump * forward[-1].sum(axis=1, keepdims=True) / size
        total = (prior * step).sum(axis=1, keepdims=True)
        evidence += np.log(total[:, 0])
        forward.append(prior * step / total)
    for jump, step in zip(jumps[:0:-1], likelihood[-2:0:-1], strict=True):
        prior = (1 - jump) * backward[-1] + jump * backward[-1].mean(axis=1, keepdims=True)
        backward.append(step * prior / prior.max(axis=1, keepdims=True))
    probability = np.exp(evidence - evidence.max())
    distributions = []
    for jump, before, after in zip(jumps, forward[:-1], backward[::-1], strict=True):
        spectrum = np.conj(np.fft.rfft(before, 2 * size)) * np.fft.rfft(after, 2 * size)
        delta = np.roll(np.fft.irfft(spectrum, 2 * size), size - 1, axis=1)[:, :-1].clip(min=0) * jump / size
        delta[:, size - 1] += (1 - jump) * (before * after).sum(axis=1)
        distributions.append(probability / probability.sum() @ (delta / delta.sum(axis=1, keepdims=True)))
    return distributions


def _interval(low: int, high: int, levels: Array, masses: Array, least: float) -> Interval:
    """Return an interval. `masses`: probabilities of all differences between the levels of its ends."""
    size, step = len(levels), levels[1] - levels[0]
    differences = np.arange(1 - size, size)
    masses = np.where(np.abs(differences) < max(1, math.ceil(least / step)), 0.0, masses)
    changed = float(masses.sum())
    if changed <= 0:
        return Interval(low, high, 0.0, 0.0, (0.0, 0.0))
    cumulative = np.cumsum(masses) / changed
    bounds = [float(differences[np.searchsorted(cumulative, share)] * step) for share in (0.005, 0.995)]
    log_ratio = float(masses @ differences * step / changed)
    return Interval(low, high, min(changed, 1.0), log_ratio, (bounds[0], bounds[1]))


@dataclass
class Search:
    """What is known about the changes of one benchmark."""

    last: int
    """Position of the bad end."""
    least: float
    """The least change that counts, as a logarithm."""
    sign: int
    """1 if the bad end is slower than the good end, -1 if it is faster."""
    error: float = ERROR
    observations: list[Observation] = field(default_factory=list)
    same: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of candidates, in order, between which the code is the same."""
    broken: set[int] = field(default_factory=set)
    """Positions of candidates that cannot be measured."""

    @property
    def intervals(self) -> list[Interval]:
        """The intervals between neighbouring measured candidates, by all observations so far."""
        return posterior(self.last, tuple(self.observations), tuple(self.same), self.least, self.sign)

    def changes(self) -> list[Interval]:
        """Return the intervals with a change that is certain enough to be reported."""
        return [interval for interval in self.intervals if interval.changed >= 1 - self.error]

    def measurable(self, interval: Interval) -> list[int]:
        """Return the candidates within an interval, except those that cannot be measured."""
        positions = range(interval.low + 1, interval.high)
        return [position for position in positions if position not in self.broken]

    def open_intervals(self) -> list[Interval]:
        """Return the intervals that may contain a change, if further pairs can tell more about them."""
        changes = self.changes()
        threshold = self.error if all(map(self.measurable, changes)) else _MISSED
        possible = [interval for interval in self.intervals if interval.changed > threshold]
        doubtful = [span for span in possible if span not in changes]
        repeatable = [span for span in doubtful if any(map(self._can_repeat, (span.low, span.high)))]
        return [span for span in possible if self.measurable(span) or span in repeatable]

    def _can_repeat(self, position: int) -> bool:
        """Tell whether another pair may measure a candidate that counts as measured."""
        pairs = sum(observation.position == position for observation in self.observations)
        is_base = not position or any(low == 0 and position <= high for low, high in self.same)
        return not is_base and pairs < MOST_PAIRS and position not in self.broken

    def scores(self) -> dict[int, float]:
        """Return how informative a pair at a candidate is: the variance of whether or where times change."""
        scores: dict[int, float] = {}
        if not (intervals := self.open_intervals()):
            return scores
        for interval in intervals:
            if positions := self.measurable(interval):
                middle = self._middle(interval, positions)
                share = (middle - interval.low) / (interval.high - interval.low)
                scores[middle] = 2 * share * (1 - share) * interval.changed
        variances = [interval.changed * (1 - interval.changed) for interval in self.intervals]
        for interval, before, after in zip(self.intervals, variances, [*variances[1:], 0.0], strict=True):
            if self._can_repeat(interval.high):
                scores[interval.high] = before + after
        return {
            position: score
            for position, score in scores.items()
            if score > 0 and any(span.low <= position <= span.high for span in intervals)
        }

    def _middle(self, interval: Interval, positions: Sequence[int]) -> int:
        """Return a candidate near the middle, and far from candidates that cannot be measured."""
        length = interval.high - interval.low
        broken = [position for position in self.broken if interval.low < position < interval.high]

        def worth(position: int) -> float:
            share = (position - interval.low) / length
            distance = min((abs(position - other) for other in broken), default=length)
            return share * (1 - share) * distance / (distance + length / 8)

        return max(positions, key=worth)


def next_position(searches: Mapping[str, Search]) -> tuple[int, list[str]] | None:
    """Return the next candidate, and the benchmarks to measure at it. Returns None if the search is over."""
    total: dict[int, float] = {}
    for search in searches.values():
        for position, score in search.scores().items():
            total[position] = total.get(position, 0.0) + score
    if not total:
        return None
    best = max(total, key=lambda position: (total[position], -position))
    searching = {name: search for name, search in searches.items() if best not in search.broken}
    spans = {name: search.open_intervals() for name, search in searching.items()}
    return best, [name for name in spans if any(span.low <= best <= span.high for span in spans[name])]


def least_change(effect: float, log_ratio: float) -> float:
    """Return half of the minimum effect, or a quarter of the change between the ends if that is larger."""
    return max(math.log1p(effect) / 2, abs(log_ratio) / 4)
