"""Verdicts from the times of two sides, each with several processes.

Everything is computed on the logarithm of head / base: swapping the sides gives the opposite verdict.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from . import drift
from .process_variance import ProcessVariance, mean, moderated
from .verdict import Judgement, Reason, Thresholds, detectable_after, judge_ratio

Array = NDArray[np.float64]
_STRICTER = 10
"""The error rate of verdicts on the drift itself is divided by this: drifts are far from normal."""
_LONE_FACTOR = 2.0
"""A side of one process may hold an outlier up to this many times as far off as the farthest one seen."""


@dataclass(frozen=True)
class SideTimings:
    """The estimates of all processes of a side.

    Benchmarks are in the order in which they ran. NaN: the process has no estimate.
    """

    logs: Array
    """Natural logarithm of the estimate in nanoseconds [processes, benchmarks]."""
    errors: Array
    """Standard error of `logs` within the process [processes, benchmarks]."""


@dataclass(frozen=True)
class JudgedRun:
    """The verdicts of a run."""

    benchmarks: list[Judgement]
    shared: Judgement | None
    """Verdict on the change that all benchmarks have in common, if a drift of the machine was removed
    (drift.py): the ratios of the benchmarks are then relative to it. None: no drift was reshift."""


def judge(
    base: SideTimings,
    head: SideTimings,
    thresholds: Thresholds,
    *,
    each: Sequence[Thresholds] | None = None,
    family: int | None = None,
    confirming: int = 0,
) -> JudgedRun:
    """Judge each benchmark.

    The mean of n processes has the variance v / n, where v is the variance between processes (`moderated`).
    v includes the variance within the processes it was estimated from. If the variance within a side is
    larger, the difference is added. v is never smaller than the variance within a process.

    Args:
        base: the older side.
        head: the newer side, with the same benchmarks.
        thresholds: effect and levels.
        each: the thresholds of each benchmark; None: `thresholds` for all.
        family: number of benchmarks that the simultaneous interval covers; None: all of the sides.
        confirming: number of further processes that will measure what looks slower. They lower the minimum
            detectable effect.
    """
    family = max(base.logs.shape[1] if family is None else family, 1)
    each = [thresholds] * base.logs.shape[1] if each is None else each
    taken = drift.estimate(base.logs, head.logs)
    if taken is None:
        inflation = np.ones(base.logs.shape[1])
        return JudgedRun(_relative(base, head, inflation, each, family, confirming), None)
    rest = SideTimings(base.logs - taken.base, base.errors), SideTimings(head.logs - taken.head, head.errors)
    found = _relative(*rest, taken.inflation, each, family, confirming)
    shifts = [_shift(*pair) for pair in zip(taken.base.T, taken.head.T, strict=True)]
    # With few processes, drifts agree by chance at some places: their variance is not taken below the mean.
    typical = math.sqrt(
        float(np.mean([shift.variance for shift in shifts if shift.degrees_of_freedom] or [0.0]))
    )
    for column, (judgement, shift) in enumerate(zip(found, shifts, strict=True)):
        if judgement.low is not None:
            found[column] = _including_drift(judgement, shift, typical, each[column], family)
    both = np.isfinite(taken.base).any(axis=0) & np.isfinite(taken.head).any(axis=0)
    shift = _shift(*(_medians(part[:, both]) for part in (taken.base, taken.head)))
    shared = Judgement(
        "incomparable", "too few processes ran enough benchmarks to estimate the common change"
    )
    if shift.degrees_of_freedom > 0:
        shared = judge_ratio(
            shift.log_ratio, shift.error(typical), shift.degrees_of_freedom, thresholds, family * _STRICTER
        )
    return JudgedRun(found, replace(shared, base_processes=shift.base, head_processes=shift.head))


def _relative(
    base: SideTimings,
    head: SideTimings,
    inflation: Array,
    each: Sequence[Thresholds],
    family: int,
    confirming: int,
) -> list[Judgement]:
    known = [np.where(np.isfinite(side.logs), side.errors, np.nan) for side in (base, head)]
    base, head = SideTimings(base.logs, known[0]), SideTimings(head.logs, known[1])
    variance = moderated((base.logs, head.logs), _mean_square(np.concatenate(known)), inflation)
    counts = [np.isfinite(side.logs).sum(axis=0) for side in (base, head)]
    means = [mean(side.logs) for side in (base, head)]
    errors = _standard_errors(variance, (base, head), (counts[0], counts[1]))
    most = np.maximum(counts[1], 1 + confirming)
    confirmed_errors = _standard_errors(variance, (base, head), (counts[0], most))
    found = []
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
                sides = [_known(side.logs[:, column]) for side in (base, head)]
                judgement = doubted(judgement, log_ratio, sides[0], sides[1], least)
                if n_head < most[column]:
                    least = least_believed(variance.farthest, min(int(n_base), int(most[column])))
                    pair = float(error), float(confirmed_errors[column])
                    detectable = detectable_after(*pair, degrees_of_freedom, thresholds, family, least)
                    judgement = replace(judgement, minimum_detectable_effect=detectable)
                judgement = replace(
                    judgement,
                    process_sd=math.sqrt(variance.variance[column]),
                    shrunk=bool(variance.own[column] < degrees_of_freedom / 2),
                )
        found.append(replace(judgement, base_processes=int(n_base), head_processes=int(n_head)))
    return found


def _known(column: Array) -> Array:
    return column[np.isfinite(column)]


def least_believed(farthest: float, processes: int) -> float:
    """Return the largest log ratio that outlier processes alone could cause.

    Args:
        farthest: largest distance of any process of the run from the median of its side.
        processes: number of processes of the smaller side.
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


@dataclass(frozen=True)
class _Shift:
    """The difference of two sides, estimated from their processes alone."""

    log_ratio: float
    variance: float
    """Variance of one process."""
    degrees_of_freedom: int
    base: int
    head: int

    def error(self, least: float) -> float:
        """Return the standard error, if one process has at least the standard deviation `least`."""
        return math.sqrt(max(self.variance, least**2) * (1 / self.base + 1 / self.head))


def _shift(base: Array, head: Array) -> _Shift:
    base, head = base[np.isfinite(base)], head[np.isfinite(head)]
    degrees_of_freedom = len(base) + len(head) - 2
    if not len(base) or not len(head) or degrees_of_freedom < 1:
        return _Shift(0.0, 0.0, 0, len(base), len(head))
    squares = ((base - base.mean()) ** 2).sum() + ((head - head.mean()) ** 2).sum()
    return _Shift(
        float(head.mean() - base.mean()),
        squares / degrees_of_freedom,
        degrees_of_freedom,
        len(base),
        len(head),
    )


def _medians(drifts: Array) -> Array:
    """Return the median drift of each process that has one."""
    return np.array([np.median(one[np.isfinite(one)]) for one in drifts if np.isfinite(one).any()])


def _including_drift(
    relative: Judgement, shift: _Shift, typical: float, thresholds: Thresholds, family: int
) -> Judgement:
    """Judge a benchmark again with the drift that was removed: the drift may be the change itself."""
    assert relative.ratio
    assert relative.own_high
    if shift.degrees_of_freedom and relative.verdict in ("same", "undecided"):
        error = math.hypot(math.log(relative.own_high / relative.ratio) / 2, shift.error(typical))
        ratio = math.log(relative.ratio) + shift.log_ratio
        whole = judge_ratio(ratio, error, shift.degrees_of_freedom, thresholds, family * _STRICTER)
        if whole.verdict in ("slower", "faster"):
            return replace(
                whole,
                reason=f"with the drift not removed, {whole.reason}",
                process_sd=relative.process_sd,
                base_processes=relative.base_processes,
                head_processes=relative.head_processes,
            )
    if relative.verdict == "same" and abs(shift.log_ratio) >= math.log1p(thresholds.effect):
        return replace(
            relative,
            verdict="undecided",
            reason=f"the benchmarks timed next to it changed by {math.expm1(shift.log_ratio):+.0%}: "
            "this may be the machine or the code",
        )
    return relative


def _mean_square(table: Array) -> Array:
    return mean(table**2)


def _standard_errors(
    variance: ProcessVariance,
    sides: tuple[SideTimings, SideTimings],
    counts: tuple[NDArray[np.int_], NDArray[np.int_]],
) -> Array:
    """Return the standard error of each benchmark's log ratio [benchmarks]; NaN: unknown."""
    noises = [_mean_square(side.errors) for side in sides]
    # The variance within a process that the variance between processes already includes: it comes from the
    # sides with several processes.
    weights = [
        np.where(np.isfinite(noise), count - 1, 0) for noise, count in zip(noises, counts, strict=True)
    ]
    total = np.maximum(sum(weights), 0)
    known = [np.nan_to_num(noise) for noise in noises]
    mixed = sum(weight * noise for weight, noise in zip(weights, known, strict=True))
    held = np.where(total > 0, mixed / np.maximum(total, 1), np.minimum(*known))
    least = np.maximum(variance.variance, held)
    square = sum(
        (least + np.maximum(noise - held, 0)) / np.maximum(count, 1)
        for noise, count in zip(known, counts, strict=True)
    )
    # A side with one process, whose own standard error is unknown, is no evidence.
    blind = [np.isnan(noise) & (count < 2) for noise, count in zip(noises, counts, strict=True)]  # noqa: PLR2004
    known_error = (variance.degrees_of_freedom > 0) & ~(blind[0] | blind[1])
    return np.sqrt(np.where(known_error, square, np.nan))


def _missing(base: int, head: int, thresholds: Thresholds) -> Judgement:
    if not base or not head:
        return Judgement("incomparable", "not in the baseline" if head else "not measured")
    if base == head == 1:
        return Judgement("incomparable", "one process on each side: measure several to know their variance")
    few = Reason.TOO_FEW_BLOCKS
    return Judgement("incomparable", few.text(thresholds), code=few)
