"""Whether one side's benchmarks are slower than the other's: numbers in, verdicts out.

All is decided on the logarithm of the ratio head / base, so that swapping the sides mirrors every verdict.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from . import drift
from .process_variance import ProcessVariance, mean, moderated
from .verdict import Judgement, Reason, Thresholds, detectable_after, judge_ratio

Array = NDArray[np.float64]
_STRICTER = 10
"""Part of the level that is left to what a drift itself is judged by: drifts are far from normal."""
_ODDER = 2.0
"""A process that stands alone may be odder than any seen by so much, on the scale of logarithms."""


@dataclass(frozen=True)
class SideTimings:
    """What processes measured, in the order in which it ran; NaN where a process did not."""

    logs: Array
    """Natural logarithm of the location [processes, benchmarks]."""
    errors: Array
    """Its standard error within the process [processes, benchmarks]."""


@dataclass(frozen=True)
class JudgedRun:
    """A whole run."""

    benchmarks: list[Judgement]
    shared: Judgement | None
    """Of what all benchmarks have in common, where the machine's drift was taken out of their ratios
    (drift.py), which are relative to it then. None: they are as measured."""


def judge(
    base: SideTimings,
    head: SideTimings,
    thresholds: Thresholds,
    *,
    family: int | None = None,
    confirming: int = 0,
) -> JudgedRun:
    """Judge each benchmark.

    A mean of n processes has the variance v / n, v being that between processes (`moderated`), which holds
    the noise within a process as it is in the processes it was estimated from; where a side's own noise is
    larger than that, the difference is added, and v is never taken for less than the noise within. With one
    process on a side there is nothing else to take it from.

    Args:
        base: the older side.
        head: the newer side, of the same benchmarks.
        thresholds: what a verdict needs.
        family: benchmarks that the interval for all at once counts; None: those of the sides.
        confirming: further processes that measure what looks slower, which lowers the
            minimum detectable effect.
    """
    family = max(base.logs.shape[1] if family is None else family, 1)
    taken = drift.estimate(base.logs, head.logs)
    if taken is None:
        inflation = np.ones(base.logs.shape[1])
        return JudgedRun(_relative(base, head, inflation, thresholds, family, confirming), None)
    rest = SideTimings(base.logs - taken.base, base.errors), SideTimings(head.logs - taken.head, head.errors)
    found = _relative(*rest, taken.inflation, thresholds, family, confirming)
    shifts = [_shift(*pair) for pair in zip(taken.base.T, taken.head.T, strict=True)]
    # Drifts of a few processes agree by luck in some places.
    typical = math.sqrt(
        float(np.mean([shift.variance for shift in shifts if shift.degrees_of_freedom] or [0.0]))
    )
    for column, (judgement, shift) in enumerate(zip(found, shifts, strict=True)):
        if judgement.low is not None:
            found[column] = _with_neighbours(judgement, shift, typical, thresholds, family)
    both = np.isfinite(taken.base).any(axis=0) & np.isfinite(taken.head).any(axis=0)
    shift = _shift(*(_medians(part[:, both]) for part in (taken.base, taken.head)))
    shared = Judgement("incomparable", "too few processes ran enough of it")
    if shift.degrees_of_freedom > 0:
        shared = judge_ratio(
            shift.log_ratio, shift.error(typical), shift.degrees_of_freedom, thresholds, family * _STRICTER
        )
    return JudgedRun(found, replace(shared, base_processes=shift.base, head_processes=shift.head))


def _relative(
    base: SideTimings,
    head: SideTimings,
    inflation: Array,
    thresholds: Thresholds,
    family: int,
    confirming: int,
) -> list[Judgement]:
    """Judge each benchmark by what is left of it."""
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
        judgement = _missing(int(n_base), int(n_head), thresholds)
        if n_base and n_head:
            log_ratio = float(means[1][column] - means[0][column])
            judgement = replace(judgement, ratio=math.exp(log_ratio))
            if math.isfinite(error):
                degrees_of_freedom = float(variance.degrees_of_freedom[column])
                least = _least(variance.farthest, min(int(n_base), int(n_head)))
                judgement = judge_ratio(
                    log_ratio, float(error), degrees_of_freedom, thresholds, family, least
                )
                sides = [_known(side.logs[:, column]) for side in (base, head)]
                judgement = _doubted(judgement, log_ratio, sides[0], sides[1], least)
                if n_head < most[column]:
                    least = _least(variance.farthest, min(int(n_base), int(most[column])))
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


def _least(farthest: float, processes: int) -> float:
    """Return a log ratio that odd processes alone could make.

    Args:
        farthest: that any process of the run lay from the middle of its side.
        processes: of the smaller side.
    """
    return farthest * (_ODDER if processes == 1 else 1 / processes)


def _doubted(judgement: Judgement, log_ratio: float, base: Array, head: Array, least: float) -> Judgement:
    """Take back a verdict of slower or faster that rests on odd processes.

    Times of processes have longer tails than a normal distribution: a neighbour comes and slows one of twenty
    by a third. So each process of a side must lie beyond the middle of the other side by a quarter of the
    difference at least; and the difference must be larger than one such process could make (`least`).
    """
    if judgement.verdict not in ("slower", "faster"):
        return judgement
    sign = 1 if log_ratio > 0 else -1
    nearest = min(
        (sign * (head - np.median(base))).min(),
        (sign * (np.median(head) - base)).min(),
    )
    if nearest < abs(log_ratio) / 4:
        return replace(judgement, verdict="undecided", reason="the processes do not agree")
    if abs(log_ratio) <= least:
        return replace(
            judgement,
            verdict="undecided",
            reason="a single outlier process could make as large a difference",
        )
    return judgement


@dataclass(frozen=True)
class _Shift:
    """How far one side's processes lie from the other's, told by them alone."""

    log_ratio: float
    variance: float
    """Of a process."""
    degrees_of_freedom: int
    base: int
    head: int

    def error(self, least: float) -> float:
        """Return the standard error, where a process has that standard deviation at least."""
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
    """Return the middle of each process's drift, of those that have one."""
    return np.array([np.median(one[np.isfinite(one)]) for one in drifts if np.isfinite(one).any()])


def _with_neighbours(
    relative: Judgement, moved: _Shift, typical: float, thresholds: Thresholds, family: int
) -> Judgement:
    """Judge a benchmark with its neighbours: the drift that was taken out may be the change itself."""
    assert relative.ratio
    assert relative.own_high
    if moved.degrees_of_freedom and relative.verdict in ("same", "undecided"):
        error = math.hypot(math.log(relative.own_high / relative.ratio) / 2, moved.error(typical))
        ratio = math.log(relative.ratio) + moved.log_ratio
        whole = judge_ratio(ratio, error, moved.degrees_of_freedom, thresholds, family * _STRICTER)
        if whole.verdict in ("slower", "faster"):
            return replace(
                whole,
                reason=f"with its neighbours, {whole.reason}",
                process_sd=relative.process_sd,
                base_processes=relative.base_processes,
                head_processes=relative.head_processes,
            )
    if relative.verdict == "same" and abs(moved.log_ratio) >= math.log1p(thresholds.effect):
        return replace(
            relative,
            verdict="undecided",
            reason=f"as its neighbours, which moved by {math.expm1(moved.log_ratio):+.0%}: machine or change",
        )
    return relative


def _mean_square(table: Array) -> Array:
    return mean(table**2)


def _standard_errors(
    variance: ProcessVariance,
    sides: tuple[SideTimings, SideTimings],
    counts: tuple[NDArray[np.int_], NDArray[np.int_]],
) -> Array:
    """Return the standard error of each benchmark's log ratio [m]; NaN where nothing tells it."""
    noises = [_mean_square(side.errors) for side in sides]
    # The noise within, as the variance between processes has it already: that of the sides with several.
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
    # A side of one process, or of processes that know nothing of their own noise, is no evidence.
    blind = [np.isnan(noise) & (count < 2) for noise, count in zip(noises, counts, strict=True)]  # noqa: PLR2004
    there = (variance.degrees_of_freedom > 0) & ~(blind[0] | blind[1])
    return np.sqrt(np.where(there, square, np.nan))


def _missing(base: int, head: int, thresholds: Thresholds) -> Judgement:
    """Say why there is no verdict."""
    if not base or not head:
        return Judgement("incomparable", "not in the baseline" if head else "not measured")
    if base == head == 1:
        return Judgement("incomparable", "one process on each side: nothing tells how much processes differ")
    few = Reason.TOO_FEW_BLOCKS
    return Judgement("incomparable", few.text(thresholds), code=few)
