"""Estimates the drift of the machine's speed during a process, so that it can be subtracted.

If a machine slows down for a while, all benchmarks that run at this time are slower. The log time of a
benchmark is modelled as its own value plus a drift that is smooth over the benchmarks in the order in which
they ran. The drift at a benchmark is estimated from its neighbours, the benchmarks that ran just before and
after it: from the deviations of their log times from their means over the processes.

The drift is subtracted only if the processes of the same side then agree much better, so that a difference
between the sides cannot cause it. The remaining ratios are relative to the neighbours; a change that all
benchmarks share is judged separately.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from .process_variance import mean, whole_runs

Array = NDArray[np.float64]

WIDTH = 4.0
"""Benchmarks on either side that the drift is estimated from; near ones have larger weights.

The width is fixed: choosing it from the base's processes gave more false positives on the simulated machine
of docs/verdict.md."""

_WORTH = 0.5
"""The drift is subtracted if this removes at least this part of the variance between processes."""
_FEWEST_BENCHMARKS = 8
_CLIP = 3.0
"""Deviations from the running median are clipped to this many robust standard deviations."""
_MAD = 1.4826
"""A normal distribution's standard deviation over its median absolute deviation."""
_NOTABLE = 1.1
"""Smaller factors since a record are not reported: it may be of a few processes."""


@dataclass(frozen=True)
class Drift:
    """The estimated drift."""

    base: Array
    """Log drift of the older side at each benchmark [processes, m]; NaN where it is unknown."""
    head: Array
    """The same of the newer side."""
    inflation: Array
    """Variance of a value minus its drift, over that of the value: the neighbours add theirs [m]."""


def estimate(base: Array, head: Array) -> Drift | None:
    """Estimate the drift of every process; None if it is small or cannot be estimated.

    Args:
        base: log estimates [processes, m] in the order in which the benchmarks ran; NaN if one did not run.
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
    # Only the variation between processes of the same side decides.
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
            return None  # too few neighbours ran on that side
    return Drift(drifts[0], drifts[1], 1 + smooth(centre[None])[1][0])


def neighbours(columns: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which benchmarks are within the width of the given ones, these included [m]."""
    reach = int(WIDTH)
    counts = np.convolve(columns, np.ones(2 * reach + 1), mode="full")[reach:-reach]
    return np.asarray(counts > 0)


def smooth(deviations: Array) -> tuple[Array, Array]:
    """Estimate each value from its neighbours, robustly.

    This is local linear regression with tricube weights (Cleveland, JASA 1979) on values that are winsorized
    around their running median.

    Args:
        deviations: [processes, m]; NaN where a benchmark was not measured.

    Returns:
        The estimates, and the variance of each in units of that of a value.
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
    # A line needs neighbours at two places.
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
    """Return np.nanmedian over the last axis, in a tenth of its time and without its warnings."""
    ordered = np.sort(values, axis=-1)  # NaN last
    count = np.isfinite(values).sum(axis=-1)
    low, high = np.maximum(count - 1, 0) // 2, count // 2
    high = np.minimum(high, values.shape[-1] - 1)
    pick = [np.take_along_axis(ordered, index[..., None], axis=-1)[..., 0] for index in (low, high)]
    return (pick[0] + pick[1]) / 2


def _spread(residuals: Array) -> float:
    """Return the variance between processes of the median benchmark."""
    known = np.isfinite(residuals).any(axis=0)
    return float(np.median(np.nanvar(residuals[:, known], axis=0)))


def since_record(times: Iterable[tuple[float, float]]) -> float | None:
    """Return by which factor the machine's times changed since a record; None: hardly, or unknown.

    It is the median over the benchmarks.

    Args:
        times: the logarithms of the times of the same code now and then, by benchmark.
    """
    changes = [now - then for now, then in times]
    if not changes or abs(middle := median(changes)) < math.log(_NOTABLE):
        return None
    return math.exp(middle)
