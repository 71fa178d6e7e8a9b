"""Verdicts from the times of two groups of processes, the sides, which were not timed in turns.

Everything is computed on the logarithm of head / base: swapping the sides gives the opposite verdict.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .shrinkage import FEWEST_TO_POOL, mean, shrunk
from .verdict import Judgement, Reason, Thresholds, detectable_after, judge_ratio

Array = NDArray[np.float64]
_MOST_FREEDOM = 30.0
"""Most degrees of freedom after shrinkage: a few processes seldom show the rare slow ones."""
_PART = 0.5
"""Share of the independent benchmarks that counts, as a few processes do not show all that benchmarks have
in common. With a share of 1, over one simulated run in 100 had a false positive on a drifting machine
(docs/experiments/verdict.md)."""
_LONE_FACTOR = 2.0
"""The only process of a side may be an outlier this many times as far off as the farthest one seen."""


@dataclass(frozen=True)
class SideTimings:
    """The estimates of all processes of a side; NaN where a process has none."""

    logs: Array
    """Natural logarithm of the estimate in nanoseconds [processes, benchmarks]."""
    errors: Array
    """Standard error of `logs` within the process [processes, benchmarks]."""


@dataclass(frozen=True)
class ProcessVariance:
    """The variance of a process's log estimate, for each benchmark [m]."""

    variance: Array
    """NaN where it is unknown."""
    degrees_of_freedom: Array
    own: Array
    """Degrees of freedom from the benchmark's own processes; the rest comes from other benchmarks."""
    farthest: float
    """The largest distance of a process from the median of its side, in any benchmark."""


def judge(
    base: SideTimings,
    head: SideTimings,
    thresholds: Thresholds,
    *,
    each: Sequence[Thresholds] | None = None,
    family: int | None = None,
    confirming: int = 0,
) -> list[Judgement]:
    """Judge each benchmark.

    The mean of n processes has the variance v / n, where v is the variance between processes (`moderated`).
    v includes the variance within the processes it was estimated from. If the variance within a side is
    larger, the difference is added. v is never smaller than the variance within a process.

    Args:
        each: the thresholds of each benchmark. If None, `thresholds` for all.
        family: number of benchmarks that the simultaneous interval covers. If None, all of the sides.
        confirming: number of further processes that will measure what looks slower. They lower the minimum
            detectable effect.
    """
    family = max(base.logs.shape[1] if family is None else family, 1)
    each = [thresholds] * base.logs.shape[1] if each is None else each
    side_errors = [np.where(np.isfinite(side.logs), side.errors, np.nan) for side in (base, head)]
    base, head = SideTimings(base.logs, side_errors[0]), SideTimings(head.logs, side_errors[1])
    variance = moderated((base.logs, head.logs), mean(np.concatenate(side_errors) ** 2))
    counts = [np.isfinite(side.logs).sum(axis=0) for side in (base, head)]
    means = [mean(side.logs) for side in (base, head)]
    errors = _standard_errors(variance, (base, head), (counts[0], counts[1]))
    most = np.maximum(counts[1], 1 + confirming)
    confirmed_errors = _standard_errors(variance, (base, head), (counts[0], most))
    judgements = []
    for column, (error, n_base, n_head) in enumerate(zip(errors, *counts, strict=True)):
        thresholds = each[column]
        judgement = _missing(int(n_base), int(n_head), thresholds)
        if n_base and n_head:
            log_ratio = float(means[1][column] - means[0][column])
            judgement = replace(judgement, ratio=math.exp(log_ratio))
            if math.isfinite(error):
                degrees_of_freedom = float(variance.degrees_of_freedom[column])
                least = least_believed(variance.farthest, min(int(n_base), int(n_head)))
                judgement = judge_ratio(
                    log_ratio, float(error), degrees_of_freedom, thresholds, family, least
                )
                old, new = (side.logs[np.isfinite(side.logs[:, column]), column] for side in (base, head))
                judgement = doubted(judgement, log_ratio, old, new, least)
                if n_head < most[column]:
                    least = least_believed(variance.farthest, min(int(n_base), int(most[column])))
                    pair = float(error), float(confirmed_errors[column])
                    detectable = detectable_after(*pair, degrees_of_freedom, thresholds, family, least)
                    judgement = replace(judgement, minimum_detectable_effect=detectable)
                is_shrunk = bool(variance.own[column] < degrees_of_freedom / 2)
                judgement = replace(judgement, shrunk=is_shrunk)
        judgements.append(replace(judgement, base_processes=int(n_base), head_processes=int(n_head)))
    return judgements


def least_believed(farthest: float, processes: int) -> float:
    """Return the largest log ratio that outlier processes could cause.

    `farthest`: largest distance of any process from the median of its side. `processes`: of the smaller side.
    """
    return farthest * (_LONE_FACTOR if processes == 1 else 1 / processes)


def doubted(judgement: Judgement, log_ratio: float, base: Array, head: Array, least: float) -> Judgement:
    """Change slower or faster to undecided if outlier processes could explain it.

    Times of processes have longer tails than a normal distribution: another virtual machine may slow one
    process in twenty by a third. So each process must lie beyond the median of the other side by at least a
    quarter of the difference, and the difference must be larger than one outlier could cause (`least`).
    """
    if judgement.verdict not in ("slower", "faster"):
        return judgement
    sign = 1 if log_ratio > 0 else -1
    nearest = min(
        (sign * (head - np.median(base))).min(),
        (sign * (np.median(head) - base)).min(),
    )
    if nearest < abs(log_ratio) / 4:
        return replace(judgement, verdict="undecided", reason="some processes contradict the difference")
    if abs(log_ratio) <= least:
        return replace(
            judgement,
            verdict="undecided",
            reason="one outlier process could cause a difference this large",
        )
    return judgement


def moderated(sides: Sequence[Array], noise: Array) -> ProcessVariance:
    """Estimate each benchmark's variance between processes, shrunk towards the variance of all benchmarks.

    All benchmarks are taken to have the same variance between processes, on top of the variance within a
    process (`noise` [m], NaN where it is unknown), which each benchmark knows from its own blocks. Of the log
    estimates of the sides [processes, m], only the variation within a side counts.
    """
    residuals = np.concatenate([side - mean(side) for side in sides])
    freedom = sum(np.maximum(np.isfinite(side).sum(axis=0) - 1, 0) for side in sides).astype(float)
    squares = np.nansum(residuals**2, axis=0)
    farthest = max((_farthest(side) for side in sides), default=0.0)
    has_variance = (freedom > 0) & (squares > 0)
    variance = np.full(freedom.shape, np.nan)
    variance[freedom > 0] = squares[freedom > 0] / freedom[freedom > 0]
    if has_variance.sum() < FEWEST_TO_POOL:
        return ProcessVariance(variance, freedom, freedom, farthest)
    within = np.where(np.isnan(noise), np.nanmedian(noise) if np.isfinite(noise).any() else 0.0, noise)
    between = max(0.0, float(np.median((variance - within)[has_variance])))
    # Not 0, even if the processes agree by chance.
    expected = np.maximum(between + within, float(np.median(variance[has_variance])) / _MOST_FREEDOM)
    pooled, degrees_of_freedom = shrunk(squares, freedom, expected, sides, _MOST_FREEDOM, _PART)
    return ProcessVariance(pooled, degrees_of_freedom, freedom, farthest)


def _farthest(side: Array) -> float:
    columns = side[:, np.isfinite(side).sum(axis=0) > 1]
    return float(np.nanmax(np.abs(columns - np.nanmedian(columns, axis=0)))) if columns.size else 0.0


def _standard_errors(
    variance: ProcessVariance,
    sides: tuple[SideTimings, SideTimings],
    counts: tuple[NDArray[np.int_], NDArray[np.int_]],
) -> Array:
    """Return the standard error of each benchmark's log ratio [benchmarks]; NaN if unknown."""
    noises = [mean(side.errors**2) for side in sides]
    # The variance within a process that the variance between processes already includes: it comes from the
    # sides with several processes.
    weights = [
        np.where(np.isfinite(noise), count - 1, 0) for noise, count in zip(noises, counts, strict=True)
    ]
    total = np.maximum(sum(weights), 0)
    variances = [np.nan_to_num(noise) for noise in noises]
    weighted_sum = sum(weight * noise for weight, noise in zip(weights, variances, strict=True))
    within = np.where(total > 0, weighted_sum / np.maximum(total, 1), np.minimum(*variances))
    process_variance = np.maximum(variance.variance, within)
    square = sum(
        (process_variance + np.maximum(noise - within, 0)) / np.maximum(count, 1)
        for noise, count in zip(variances, counts, strict=True)
    )
    # A side with one process, whose own standard error is unknown, is no evidence.
    lacks_error = [np.isnan(noise) & (count < 2) for noise, count in zip(noises, counts, strict=True)]  # noqa: PLR2004
    has_error = (variance.degrees_of_freedom > 0) & ~(lacks_error[0] | lacks_error[1])
    return np.sqrt(np.where(has_error, square, np.nan))


def _missing(base: int, head: int, thresholds: Thresholds) -> Judgement:
    if not base or not head:
        return Judgement("incomparable", "not in the baseline" if head else "not measured")
    if base == head == 1:
        return Judgement("incomparable", "one process on each side: measure several to know their variance")
    code = Reason.TOO_FEW_BLOCKS
    return Judgement("incomparable", code.text(thresholds), code=code)
