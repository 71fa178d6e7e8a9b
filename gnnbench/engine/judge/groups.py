"""Verdicts from the times of two groups of processes, one group for each side, that did not run alternately.

All values are logarithms of head / base, so swapping the sides gives the opposite verdict.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .shrinkage import FEWEST_TO_POOL, divide, mean, shrink
from .verdict import Judgement, Reason, Thresholds, detectable_after, judge_ratio

Array = NDArray[np.float64]
_MOST_FREEDOM = 30.0
"""Limit of degrees of freedom after shrinkage: a few processes may include none of the rare slow ones."""
_PART = 0.5
"""Share of the independent benchmarks that counts for shrinkage. A few processes do not show everything that
benchmarks have in common: with a share of 1, more than 1 % of simulated runs on a drifting machine had a
false positive (docs/experiments/verdict.md)."""
_LONE_FACTOR = 2.0
"""The only process of a side may be an outlier: up to this many times as far off as the farthest process."""


@dataclass(frozen=True)
class SideTimings:
    """The estimates of all processes of a side; NaN where a process has none."""

    logs: Array
    """Natural logarithm of the estimate in nanoseconds [processes, benchmarks]."""
    errors: Array
    """Standard error of `logs` within the process [processes, benchmarks]."""


@dataclass(frozen=True)
class ProcessVariance:
    """The variance of the log estimate of one process, for each benchmark [m]."""

    variance: Array
    """NaN where it is unknown."""
    degrees_of_freedom: Array
    own_freedom: Array
    """Degrees of freedom from the benchmark's own processes; the rest comes from other benchmarks."""
    farthest: float
    """The largest distance of a process from the median of its side, in any benchmark."""

    def outlier_effect(self, processes: int) -> float:
        """Return the largest log ratio that one outlier can cause on a side with this many processes."""
        return self.farthest * (_LONE_FACTOR if processes == 1 else 1 / processes)

    def judge(
        self, column: int, error: float, base: Array, head: Array, thresholds: Thresholds, family: int
    ) -> Judgement:
        """Judge a benchmark by the logs of its processes, and the standard error of the log ratio."""
        log_ratio, freedom = float(head.mean() - base.mean()), float(self.degrees_of_freedom[column])
        least = self.outlier_effect(min(len(base), len(head)))
        judgement = judge_ratio(log_ratio, error, freedom, thresholds, family, least)
        judgement = replace(judgement, shrunk=bool(self.own_freedom[column] < freedom / 2))
        if judgement.verdict not in ("slower", "faster"):
            return judgement
        # Times of processes have longer tails than a normal distribution: another virtual machine may slow
        # one in twenty by a third. So each process must lie clearly beyond the median of the other side.
        reach = np.sign(log_ratio) * np.concatenate([head - np.median(base), np.median(head) - base])
        reason = ""
        if reach.min() < abs(log_ratio) / 4:
            reason = "some processes contradict the difference"
        elif abs(log_ratio) <= least:
            reason = "one outlier process could cause a difference this large"
        return replace(judgement, verdict="undecided", reason=reason) if reason else judgement


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

    The mean of n processes has the variance v / n, where v is the variance of one process
    (`process_variance`). v includes the average variance within a process. If the variance within the
    processes of one side is larger, the difference is added for this side.

    Args:
        each: the thresholds of each benchmark. If None, `thresholds` for all.
        family: number of benchmarks that the simultaneous interval covers. If None, all benchmarks.
        confirming: number of new processes that will time slower benchmarks. They lower detectable effects.
    """
    family = max(base.logs.shape[1] if family is None else family, 1)
    each = [thresholds] * base.logs.shape[1] if each is None else each
    squares = [np.where(np.isfinite(side.logs), side.errors**2, np.nan) for side in (base, head)]
    variance = process_variance((base.logs, head.logs), mean(np.concatenate(squares)))
    noise = np.stack([mean(square) for square in squares])
    counts = np.stack([np.isfinite(side.logs).sum(axis=0) for side in (base, head)])
    confirmed_counts = np.stack([counts[0], np.maximum(counts[1], 1 + confirming)])
    errors = _standard_errors(variance, noise, counts)
    confirmed_errors = _standard_errors(variance, noise, confirmed_counts)
    judgements = []
    for column, (limits, error) in enumerate(zip(each, map(float, errors), strict=True)):
        old, new = (side.logs[np.isfinite(side.logs[:, column]), column] for side in (base, head))
        if not math.isfinite(error):
            judgement = _without_interval(old, new, limits)
        else:
            judgement = variance.judge(column, error, old, new, limits, family)
            if len(new) < confirmed_counts[1, column]:
                least = variance.outlier_effect(int(confirmed_counts[:, column].min()))
                freedom, confirmed_error = variance.degrees_of_freedom[column], confirmed_errors[column]
                detectable = detectable_after(error, confirmed_error, freedom, limits, family, least)
                judgement = replace(judgement, minimum_detectable_effect=detectable)
        judgements.append(replace(judgement, base_processes=len(old), head_processes=len(new)))
    return judgements


def _without_interval(base: Array, head: Array, thresholds: Thresholds) -> Judgement:
    """Return the judgement on the logs of processes whose log ratio has no standard error."""
    if not (len(base) and len(head)):
        return Judgement("incomparable", "not in the baseline" if len(head) else "not measured")
    ratio, code = math.exp(head.mean() - base.mean()), Reason.TOO_FEW_BLOCKS
    if len(base) == len(head) == 1:
        reason = "one process on each side: measure several to know their variance"
        return Judgement("incomparable", reason, ratio)
    return Judgement("incomparable", code.text(thresholds), ratio, code=code)


def process_variance(sides: Sequence[Array], noise: Array) -> ProcessVariance:
    """Estimate each benchmark's variance between processes, shrunk towards the variance of all benchmarks.

    All benchmarks are assumed to have the same variance between processes. Each benchmark's variance within a
    process is added: `noise` [m], from its own blocks, NaN if unknown. `sides`: the log estimates
    [processes, m] of each side. Only the variation within a side counts.
    """
    residuals = np.concatenate([side - mean(side) for side in sides])
    freedom = sum(np.maximum(np.isfinite(side).sum(axis=0) - 1, 0) for side in sides).astype(float)
    squares = np.nansum(residuals**2, axis=0)
    several = (side[:, np.isfinite(side).sum(axis=0) > 1] for side in sides)
    distances = [np.abs(side - np.nanmedian(side, axis=0)) for side in several if side.size]
    farthest = float(max(map(np.nanmax, distances), default=0.0))
    has_variance = (freedom > 0) & (squares > 0)
    variance = divide(squares, freedom, np.nan)
    if has_variance.sum() < FEWEST_TO_POOL:
        return ProcessVariance(variance, freedom, freedom, farthest)
    within = np.where(np.isnan(noise), np.nanmedian(noise) if np.isfinite(noise).any() else 0.0, noise)
    between = max(0.0, float(np.median((variance - within)[has_variance])))
    # Not 0, even if the processes agree by chance.
    expected = np.maximum(between + within, float(np.median(variance[has_variance])) / _MOST_FREEDOM)
    pooled, degrees_of_freedom = shrink(squares, freedom, expected, sides, _MOST_FREEDOM, _PART)
    return ProcessVariance(pooled, degrees_of_freedom, freedom, farthest)


def _standard_errors(variance: ProcessVariance, noise: Array, counts: NDArray[np.int_]) -> Array:
    """Return the standard error of each benchmark's log ratio [m]; NaN if unknown.

    `noise`: variance within a process, NaN if unknown. `counts`: number of processes [sides, m].
    """
    # `variance` already includes `within`, which comes from the sides with several processes.
    weights, variances = np.where(np.isfinite(noise), counts - 1, 0), np.nan_to_num(noise)
    total = np.maximum(weights.sum(axis=0), 0)
    weighted_mean = (weights * variances).sum(axis=0) / np.maximum(total, 1)
    within = np.where(total > 0, weighted_mean, variances.min(axis=0))
    by_side = np.maximum(variance.variance, within) + np.maximum(variances - within, 0)
    square = (by_side / np.maximum(counts, 1)).sum(axis=0)
    # A side gives no standard error if it has a single process whose own standard error is unknown.
    lacks_error = (np.isnan(noise) & (counts < 2)).any(axis=0)  # noqa: PLR2004
    has_error = (variance.degrees_of_freedom > 0) & ~lacks_error
    return np.sqrt(np.where(has_error, square, np.nan))
