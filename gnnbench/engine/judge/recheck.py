"""Whether pairs of two processes contradict what one process says of a benchmark."""

import math
from collections.abc import Sequence

import numpy as np

from ..ground import units
from .verdict import Judgement
from .visit import Visit, sample

RECHECKS = 4
"""Pairs of two processes that check what changed."""
_PAIR_SD = 0.03
"""Standard deviation of the log ratio of two processes beyond the noise within, on a quiet machine."""
_ERRORS = 2.0
"""So many standard errors are a contradiction."""


def contradiction(judgement: Judgement, visits: Sequence[Visit]) -> str | None:
    """Return why visits in pairs of two processes contradict a ratio. Returns None if they do not.

    Their mean is nearer to 1 than to the ratio, and two standard errors from the ratio. The standard error is
    the larger one of that between the visits and that expected from the noise within each.
    """
    if not visits or judgement.ratio is None:
        return None
    samples = [sample(visit) for visit in visits]
    logs = np.array([row.turns for row in samples])
    noises = np.nan_to_num([row.noise[1, 1] for row in samples], nan=math.inf)
    expected = math.sqrt((_PAIR_SD**2 + noises.mean()) / len(logs))
    between = float(logs.std(ddof=1)) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
    mean, ratio = float(logs.mean()), math.log(judgement.ratio)
    shortfall = (ratio - mean) * math.copysign(1.0, ratio)
    if shortfall < abs(ratio) / 2 or shortfall < _ERRORS * max(expected, between):
        return None
    apart, together = units.ratio(math.exp(mean)), units.ratio(judgement.ratio)
    return f"{together} in one process, {apart} in {units.count(len(logs), 'pair')} of two: not confirmed"
