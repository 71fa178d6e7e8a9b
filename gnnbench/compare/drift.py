"""What all benchmarks of a process share: the machine's speed at the time, taken out where it explains much.

Benchmarks that are measured one after another on a machine that slows down for a while are slower together.
On the scale of logarithms a time is the benchmark's own plus a drift that is smooth over the benchmarks in
the order in which they ran. What a benchmark's neighbours deviate from their means over the processes tells
the drift.

It is taken out only where that makes the processes of a side agree with each other better by far, so that no
change between the sides has a say. What then remains is relative to the neighbours: a change that all
benchmarks share is judged apart.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .process_variance import mean, whole_runs

Array = NDArray[np.float64]

WIDTH = 4.0
"""Benchmarks to either side that tell the drift, those near weighing most.

Fixed: on the simulated machine of docs/verdict.md a width chosen by the base's processes had more false
positives, as five of them that were at the same turn of a drift chose one that was too wide for the sixth."""

_WORTH = 0.5
"""Part of the variance between the base's processes that must go for the drift to be taken out."""
_FEWEST_BENCHMARKS = 8
_CLIP = 3.0
"""A deviation from the running median counts for at most so many robust standard deviations of them."""
_MAD = 1.4826
"""A normal distribution's standard deviation over its median absolute deviation."""


@dataclass(frozen=True)
class Drift:
    """What was taken out."""

    base: Array
    """Log of the drift [processes, m] of each benchmark of the older side; NaN where it cannot be told."""
    head: Array
    """The same of the newer side."""
    inflation: Array
    """Variance of what remains over that of a value, as neighbours add theirs [m]."""


def estimate(base: Array, head: Array) -> Drift | None:
    """Estimate the drift of every process; None where there is none to speak of.

    Args:
        base: log locations [processes, m], in the order in which the benchmarks ran; NaN where one did not.
        head: the same of the newer side.
    """
    means = [mean(side[whole_runs(side)]) for side in (base, head)]
    several = [
        side - middle
        for side, middle in zip((base, head), means, strict=True)
        if whole_runs(side).sum() > 1 and np.isfinite(middle).sum() >= _FEWEST_BENCHMARKS
    ]
    if not several:
        return None
    # What varies between the processes of a side is no change from one side to the other.
    residuals = np.concatenate(several)
    explained, _ = smooth(residuals)
    if not _spread(residuals - explained) < (1 - _WORTH) * _spread(residuals):
        return None
    centre = np.where(np.isfinite(means[0]), means[0], means[1])
    centre = np.where(np.isfinite(means[1]), (centre + means[1]) / 2, centre)
    drifts = [smooth(side - centre)[0] for side in (base, head)]
    for side, other, drift in ((base, head, drifts[0]), (head, base, drifts[1])):
        judged = np.isfinite(side) & np.isfinite(other).any(axis=0)
        if (judged.any(axis=0) & ~(judged & np.isfinite(drift)).any(axis=0)).any():
            return None  # too few benchmarks were run on that side
    return Drift(drifts[0], drifts[1], 1 + smooth(centre[None])[1][0])


def neighbours(columns: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the benchmarks that the drift of some is told from, those included [m]."""
    reach = int(WIDTH)
    counts = np.convolve(columns, np.ones(2 * reach + 1), mode="full")[reach:-reach]
    return np.asarray(counts > 0)


def smooth(deviations: Array) -> tuple[Array, Array]:
    """Estimate each value from its neighbours, by a local line that outliers hardly move.

    Local linear regression with tricube weights (Cleveland, JASA 1979) of values that were pulled in to their
    running median.

    Args:
        deviations: [processes, m]; NaN where a benchmark was not measured.

    Returns:
        the estimates, and the sum of the squared weights in each: its variance in units of a value's.
    """
    m = deviations.shape[1]
    there = np.isfinite(deviations)
    winsorized = _winsorized(deviations)
    distance = np.subtract.outer(np.arange(m), np.arange(m)).astype(float)  # of k from j: -distance[j, k]
    kernel = np.clip(1 - np.abs(distance / (WIDTH + 1)) ** 3, 0, None) ** 3
    np.fill_diagonal(kernel, 0)
    weight = there.astype(float)
    s0, s1, s2 = (weight @ (kernel * distance**power).T for power in range(3))
    values = np.where(there, winsorized, 0)
    t0, t1 = (values @ (kernel * distance**power).T for power in range(2))
    determinant = s2 * s0 - s1**2
    # Too few neighbours, or all at one place, tell no line.
    enough = determinant > 1e-9 * np.maximum(s2 * s0, 1e-300)
    determinant = np.where(enough, determinant, np.nan)
    k0, k1, k2 = (weight @ (kernel**2 * distance**power).T for power in range(3))
    squares = (s2**2 * k0 - 2 * s1 * s2 * k1 + s1**2 * k2) / determinant**2
    return (s2 * t0 - s1 * t1) / determinant, squares


def _winsorized(deviations: Array) -> Array:
    reach = int(WIDTH)
    padded = np.pad(deviations, ((0, 0), (reach, reach)), constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1, axis=1)
    middle = _nanmedian(windows)
    away = deviations - middle
    scale = _MAD * _nanmedian(np.abs(away))[:, None]
    return middle + np.clip(away, -_CLIP * scale, _CLIP * scale)


def _nanmedian(values: Array) -> Array:
    """Return the median over the last axis without NaN; NaN where there is nothing else."""
    ordered = np.sort(values, axis=-1)  # NaN last
    count = np.isfinite(values).sum(axis=-1)
    low, high = np.maximum(count - 1, 0) // 2, count // 2
    high = np.minimum(high, values.shape[-1] - 1)
    pick = [np.take_along_axis(ordered, index[..., None], axis=-1)[..., 0] for index in (low, high)]
    return (pick[0] + pick[1]) / 2


def _spread(residuals: Array) -> float:
    """Return the variance between processes that is typical of benchmarks."""
    known = np.isfinite(residuals).any(axis=0)
    return float(np.median(np.nanvar(residuals[:, known], axis=0)))
