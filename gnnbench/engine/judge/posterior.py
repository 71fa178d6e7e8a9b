"""The posterior distribution of a benchmark's level along a line of candidates, from noisy pairs.

Candidate 0 is the good end. The level of a candidate is the logarithm of its time over that of candidate 0.
From one candidate to the next, the level stays, or it jumps to any other level. This is a hidden Markov
model on a grid of levels, whose posterior the forward-backward algorithm gives exactly (Rabiner, Proc. IEEE
77, 1989). There may be any number of jumps, up and down. Between two measured candidates only the
probability of a jump matters, so the cost does not depend on the number of candidates.

A pair's log ratio has normal noise of unknown scale, and with an unknown probability it is an outlier. Both
are averaged over, so that noise worse than usual makes the answer later and not wrong.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PAIR_VARIANCE = 0.01**2
"""Usual variance of a log ratio between pairs of processes, as in `ab.evidence`."""
_SCALES = np.geomspace(0.7, 16, 10)
"""Factors on the usual standard deviation that are tried."""
_SCALE_SPREAD = 0.7
"""Standard deviation of the logarithm of this factor, before anything is measured."""
_OUTLIERS = np.array([0.05, 0.1, 0.3])
"""Shares of outliers that are tried, with the same probability."""
_FAR = 0.1
"""Scale of an outlier's log ratio, which has the distribution of Cauchy."""
_LEVELS = 301
_EXPECTED = 0.25
"""Expected number of jumps before anything is measured. A jump and another one back are rare."""
_EXACT = 1e-4
"""Standard deviation of a log ratio that is known without a measurement, at least."""


@dataclass(frozen=True)
class Observation:
    """One pair of processes: a candidate against candidate 0."""

    position: int
    log_ratio: float
    variance: float
    """Of the noise within the pair; that between pairs is added here."""


@dataclass(frozen=True)
class Interval:
    """Two candidates that were measured, and none between them was."""

    low: int
    high: int
    changed: float
    """Probability that their levels differ by the least change that counts, or more."""
    log_ratio: float
    """Expected difference of their levels, if it does."""
    bounds: tuple[float, float]
    """99 % credible interval of this difference."""


def posterior(
    last: int,
    observations: Sequence[Observation],
    *,
    least: float,
    sign: int,
    equal: Mapping[int, int],
    weights: Sequence[float],
) -> list[Interval]:
    """Return what the pairs say of one benchmark, in the order of the candidates, from 0 to the last.

    Args:
        last: position of the last candidate, the bad end; it must have been observed.
        observations: of candidates above 0.
        least: the least change of the level that counts, as a logarithm.
        sign: 1 if the bad end is known to be slower than the good one, -1 if it is faster.
        equal: positions of candidates that run the same code as an earlier one, and that one's position; they
            count as measured.
        weights: relative probability of a jump just before each candidate from 1 to `last`.
    """
    by_position: dict[int, list[Observation]] = {position: [] for position in (0, *equal, *equal.values())}
    for one in observations:
        by_position.setdefault(one.position, []).append(one)
    positions = sorted(by_position)
    assert positions[-1] == last
    levels = _grid(by_position)
    logs = np.stack([_log_likelihood(levels, by_position[position]) for position in positions])
    logs[0, :, :] = -np.inf
    logs[0, :, np.abs(levels).argmin()] = 0.0
    logs[-1, :, levels * sign < least] = -np.inf
    jumps = _jumps(positions, weights, equal)
    return _smoothed(positions, levels, logs, jumps, least)


def _grid(by_position: Mapping[int, Sequence[Observation]]) -> Array:
    """Return equally distant levels, 0 among them, around all levels that the observations allow."""
    ratios = [[one.log_ratio for one in by_position[position]] for position in sorted(by_position)]
    centres = [float(np.median(found)) for found in ratios if found]
    # A single outlier should not make the grid coarse.
    widest = 3 * max(abs(centres[-1]), 5 * math.sqrt(PAIR_VARIANCE))
    low, high = max(min(0.0, *centres), -widest), min(max(0.0, *centres), widest)
    margin = max(0.25 * (high - low), 0.03)
    step = (high - low + 2 * margin) / (_LEVELS - 1)
    below = math.ceil((margin - low) / step)
    return np.asarray((np.arange(_LEVELS) - below) * step, dtype=np.float64)


def _log_likelihood(levels: Array, observations: Sequence[Observation]) -> Array:
    """Return the log likelihood of each level, for each scale and share of outliers [settings, levels]."""
    total = np.zeros((len(_SCALES) * len(_OUTLIERS), len(levels)))
    for one in observations:
        apart = one.log_ratio - levels
        if one.variance == 0.0:
            total += -(apart**2) / (2 * max(_EXACT, levels[1] - levels[0]) ** 2)
            continue
        deviation = np.sqrt(_SCALES**2 * (PAIR_VARIANCE + one.variance))[:, None, None]
        usual = np.exp(-((apart / deviation) ** 2) / 2) / deviation / math.sqrt(2 * math.pi)
        far = _FAR / math.pi / (_FAR**2 + apart**2)
        share = _OUTLIERS[None, :, None]
        both = np.log((1 - share) * usual + share * far)
        total += both.reshape(total.shape)
    return total


def _jumps(positions: Sequence[int], weights: Sequence[float], equal: Mapping[int, int]) -> Array:
    """Return the probability of at least one jump between neighbours of `positions`."""
    rates = np.asarray(weights, dtype=float)
    stays = np.concatenate([[0.0], np.cumsum(-np.log1p(-_EXPECTED * rates / rates.sum()))])
    found = []
    for low, high in pairwise(positions):
        same = equal.get(high, high) == equal.get(low, low)
        found.append(0.0 if same else -math.expm1(stays[low] - stays[high]))
    return np.array(found)


def _smoothed(
    positions: Sequence[int], levels: Array, logs: Array, jumps: Array, least: float
) -> list[Interval]:
    """Run forward and backward, for all settings of the noise at once."""
    n, _, size = logs.shape
    peaks = logs.max(axis=2)
    likelihood = np.exp(logs - peaks[:, :, None])
    forward, backward = np.empty_like(logs), np.ones_like(logs)
    scales = np.log(_SCALES) / _SCALE_SPREAD
    evidence = np.repeat(-(scales**2) / 2, len(_OUTLIERS)) + peaks.sum(axis=0)
    forward[0] = likelihood[0]
    for step in range(1, n):
        jump = jumps[step - 1]
        moved = (1 - jump) * forward[step - 1] + jump * forward[step - 1].sum(axis=1, keepdims=True) / size
        forward[step] = moved * likelihood[step]
        total = forward[step].sum(axis=1, keepdims=True)
        evidence += np.log(total[:, 0])
        forward[step] /= total
    for step in range(n - 2, -1, -1):
        jump = jumps[step]
        ahead = likelihood[step + 1] * backward[step + 1]
        backward[step] = (1 - jump) * ahead + jump * ahead.mean(axis=1, keepdims=True)
        backward[step] /= backward[step].max(axis=1, keepdims=True)
    probability = np.exp(evidence - evidence.max())
    probability /= probability.sum()
    reach = max(1, math.ceil(least / (levels[1] - levels[0])))
    intervals = []
    for step in range(n - 1):
        ahead = likelihood[step + 1] * backward[step + 1]
        apart = _differences(forward[step], ahead, probability, jumps[step])
        intervals.append(_interval(positions[step], positions[step + 1], apart, reach, levels))
    return intervals


def _differences(before: Array, after: Array, probability: Array, jump: float) -> Array:
    """Return the distribution of the difference of two neighbours' levels [2 size - 1], over all settings.

    Args:
        before: forward probabilities of the first [settings, size].
        after: likelihood of all that follows, by the second's level [settings, size].
        probability: of each setting.
        jump: probability of a jump between the two.
    """
    size = before.shape[1]
    width = 2 * size - 1
    spectrum = np.conj(np.fft.rfft(before, 2 * size)) * np.fft.rfft(after, 2 * size)
    apart = np.roll(np.fft.irfft(spectrum, 2 * size), size - 1, axis=1)[:, :width].clip(min=0) * jump / size
    apart[:, size - 1] += (1 - jump) * (before * after).sum(axis=1)
    return probability @ (apart / apart.sum(axis=1, keepdims=True))


def _interval(low: int, high: int, apart: Array, reach: int, levels: Array) -> Interval:
    size = len(levels)
    differences = (np.arange(len(apart)) - (size - 1)) * (levels[1] - levels[0])
    counts = np.abs(np.arange(len(apart)) - (size - 1)) >= reach
    changed = float(apart[counts].sum())
    if changed <= 0:
        return Interval(low, high, 0.0, 0.0, (0.0, 0.0))
    of_changes = np.where(counts, apart, 0.0) / changed
    below = np.cumsum(of_changes)
    bounds = tuple(float(differences[np.searchsorted(below, share)]) for share in (0.005, 0.995))
    return Interval(low, high, min(changed, 1.0), float(of_changes @ differences), (bounds[0], bounds[1]))
