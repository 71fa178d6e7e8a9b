"""Whether the machine itself became slower or faster since a record."""

import math
from collections.abc import Iterable
from statistics import median

_NOTABLE = 1.1
"""Smaller factors are not reported: the record may be of a few processes."""


def factor(times: Iterable[tuple[float, float]]) -> float | None:
    """Return by which factor the machine's times changed; None: hardly, or unknown.

    It is the median over the benchmarks.

    Args:
        times: the logarithms of the times of the same code now and then, by benchmark.
    """
    changes = [now - then for now, then in times]
    if not changes or abs(middle := median(changes)) < math.log(_NOTABLE):
        return None
    return math.exp(middle)
