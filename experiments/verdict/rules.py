"""The decision rules of other tools, each applied to the rounds of two processes.

The formulas are rewritten from the tools' documentation and source code.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]

PLANTED = 0.05
"""The injected slowdown."""


def percent(reduce: Callable[..., Array]) -> Callable[[Array, Array], NDArray[np.bool_]]:
    """pytest-benchmark's `--benchmark-compare-fail=STAT:5%`: current / base * 100 - 100 > 5."""
    return lambda base, head: reduce(head, axis=-1) / reduce(base, axis=-1) * 100 - 100 > 5  # noqa: PLR2004


def asv(base: Array, head: Array) -> NDArray[np.bool_]:
    """`asv continuous`: a ratio of medians above 1.1, and Mann-Whitney's p below 0.002 (asv.statistics)."""
    ratio = np.median(head, axis=-1) / np.median(base, axis=-1)
    return (ratio > 1.1) & (_mann_whitney(base, head) < 0.002)  # noqa: PLR2004


def google_benchmark(base: Array, head: Array) -> NDArray[np.bool_]:
    """Google Benchmark's tools/compare.py: Mann-Whitney's U, two-sided, p below 0.05, and a larger mean."""
    return (_mann_whitney(base, head) < 0.05) & (head.mean(axis=-1) > base.mean(axis=-1))  # noqa: PLR2004


def pyperf(base: Array, head: Array) -> NDArray[np.bool_]:
    """`pyperf compare_to`: Student's two-sample t test at 95 % (pyperf._utils), and a larger mean."""
    return (stats.ttest_ind(base, head, axis=-1).pvalue < 0.05) & (head.mean(axis=-1) > base.mean(axis=-1))  # noqa: PLR2004


def _mann_whitney(base: Array, head: Array) -> Array:
    return np.asarray(stats.mannwhitneyu(base, head, axis=-1, method="asymptotic").pvalue)


RULES: dict[str, Callable[[Array, Array], NDArray[np.bool_]]] = {
    "pytest-benchmark mean:5%": percent(np.mean),
    "pytest-benchmark median:5%": percent(np.median),
    "pytest-benchmark min:5%": percent(np.min),
    "asv": asv,
    "Google Benchmark": google_benchmark,
    "pyperf": pyperf,
}


def judge_all(rounds: Array) -> dict[str, dict[str, Any]]:
    """Judge the sixth process against the fifth, as it is and with every benchmark slowed down.

    Args:
        rounds: times [processes, benchmarks, rounds].

    Returns:
        by rule the share of benchmarks that alarm (`alarm`), whether any does (`any`), and the share of
        slowdowns that are found (`found`).
    """
    base, head = rounds[4], rounds[5]
    result = {}
    for name, rule in RULES.items():
        alarms = rule(base, head)
        result[name] = {
            "alarm": float(alarms.mean()),
            "any": bool(alarms.any()),
            "found": float(rule(base, head * (1 + PLANTED)).mean()),
        }
    return result
