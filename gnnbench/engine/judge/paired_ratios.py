"""Ratios of pairs of benchmarks that were timed in the same processes.

A ratio is computed within a process, so that the speed of the process cancels. All values are natural
logarithms.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .groups import ProcessVariance, SideTimings, process_variance
from .shrinkage import mean
from .verdict import Judgement, Reason, Thresholds, judge_ratio

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PairedRatios:
    """The log ratios of pairs of benchmarks, in each process."""

    logs: Array
    """Log ratios [processes, pairs]. NaN where a process did not time both benchmarks."""
    errors: Array
    """Standard error of each pair's mean over processes [pairs]. NaN if unknown."""
    variance: ProcessVariance
    """Variance of the log ratio of one process, for each pair."""

    @classmethod
    def of(cls, timings: SideTimings, base: Sequence[int], head: Sequence[int]) -> Self:
        """Return the ratios of the benchmarks in the columns `head` to the benchmarks in the columns `base`.

        The mean of n processes has the variance v / n. Here v is the larger of two variances: of the log
        ratio of one process (`process_variance`), which needs several processes, and within a process.
        """
        logs = timings.logs[:, head] - timings.logs[:, base]
        has_ratio = np.isfinite(logs)
        squares = timings.errors[:, head] ** 2 + timings.errors[:, base] ** 2
        within = mean(np.where(has_ratio, squares, np.nan))
        counts = has_ratio.sum(axis=0)
        variance = process_variance([logs], within)
        square = np.where(variance.degrees_of_freedom > 0, np.fmax(variance.variance, within), within)
        # A single process gives no standard error if its own standard error is unknown.
        lacks_error = (counts < 2) & np.isnan(within)  # noqa: PLR2004
        errors = np.sqrt(np.where((counts > 0) & ~lacks_error, square, np.nan) / np.maximum(counts, 1))
        return cls(logs, errors, variance)

    @property
    def counts(self) -> NDArray[np.int_]:
        """Number of processes that timed both benchmarks, for each pair."""
        return np.asarray(np.isfinite(self.logs).sum(axis=0))

    def judge(self, column: int, thresholds: Thresholds, family: int) -> Judgement:
        """Judge a pair of benchmarks. With one process there is an interval, but no verdict."""
        logs = self.logs[:, column]
        logs = logs[np.isfinite(logs)]
        count, error = len(logs), float(self.errors[column])
        if not count:
            return Judgement("incomparable", "no process timed both")
        if self.variance.degrees_of_freedom[column] and math.isfinite(error):
            judgement = self.variance.judge(column, error, np.zeros(count), logs, thresholds, family)
        else:
            judgement = _within_a_process(float(logs.mean()), error, thresholds, family)
        return replace(judgement, base_processes=count, head_processes=count)

    def judge_mean(self, columns: Sequence[int], thresholds: Thresholds) -> Judgement:
        """Judge the mean log ratio of several pairs, each of which has a ratio.

        An interval needs several processes, and a standard error of each pair. Errors of pairs in one process
        may be correlated in any way. So the variance is cluster-robust, with processes as clusters. If the
        standard errors of the pairs give a larger variance, it is used instead.
        """
        logs, errors = self.logs[:, columns], self.errors[columns]
        has_ratio = np.isfinite(logs)
        processes = int(has_ratio.any(axis=1).sum())
        log_ratio = float(mean(logs).mean())
        if processes == 1:
            reason = "one process: how much the mean varies between processes is unknown"
            return Judgement("incomparable", reason, math.exp(log_ratio), code=Reason.ONE_PROCESS)
        parts = np.where(has_ratio, logs - mean(logs), 0.0) / has_ratio.sum(axis=0)
        between = float((parts.mean(axis=1) ** 2).sum()) * processes / (processes - 1)
        error = math.sqrt(max(between, float((errors**2).sum()) / len(columns) ** 2))
        if math.isnan(error):
            return _within_a_process(log_ratio, error, thresholds, 1)
        return judge_ratio(log_ratio, error, processes - 1.0, thresholds, 1)


def _within_a_process(log_ratio: float, error: float, thresholds: Thresholds, family: int) -> Judgement:
    """Return a judgement without a verdict. It has an interval unless the standard error is NaN."""
    if math.isnan(error):
        code = Reason.TOO_FEW_BLOCKS
        return Judgement("incomparable", code.text(thresholds), math.exp(log_ratio), code=code)
    code, judgement = Reason.ONE_PROCESS, judge_ratio(log_ratio, error, math.inf, thresholds, family)
    reason = code.text(thresholds)
    return replace(judgement, verdict="undecided", reason=reason, code=code, minimum_detectable_effect=None)
