"""Two controls of a run: the base timed against itself, and changed benchmarks in pairs of two processes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ..ground import units
from ..ground.codec import Count, Positive
from .comparison import Compared
from .evidence import USUAL_PAIR_VARIANCE, Array
from .verdict import Judgement
from .visit import Visit, sample

LEVEL = 0.99
_FEWEST = 3
RECHECKS = 4
"""Number of pairs of two processes that check a changed benchmark."""
_PAIR_SD = 0.03
"""Standard deviation of the log ratio of two processes beyond the noise within, on a quiet machine."""
_ERRORS = 2.0
"""Number of standard errors that make a contradiction."""


@dataclass(frozen=True)
class Control:
    """The ratio of the base's times in two of its own processes, over all benchmarks that had a control."""

    visits: Count
    ratio: Positive
    low: Positive
    """Lower bound of the interval at LEVEL; `high` is the upper one."""
    high: Positive

    @property
    def fails(self) -> bool:
        """Whether the run measures a difference between identical code."""
        return not self.low <= 1 <= self.high

    @property
    def text(self) -> str:
        """`control, base against base: 1.00x (0.99-1.01)`, and the consequence if the control fails."""
        text = (
            f"control, base against base: {units.ratio(self.ratio)} ({units.interval(self.low, self.high)})"
        )
        return f"{text}, so times decide nothing: repeat the run on a quiet machine" if self.fails else text


def control(visits: Sequence[Visit]) -> Control | None:
    """Return the weighted mean ratio, with Student's interval. Returns None for fewer than three visits.

    The weights are the reciprocals of the expected variances: between pairs, and within the visit.
    """
    if len(visits) < _FEWEST:
        return None
    logs, noises = _turns(visits, unknown=0.0)
    weights = 1 / (USUAL_PAIR_VARIANCE + noises)
    mean = float(np.average(logs, weights=weights))
    freedom = len(logs) - 1
    variance = float((weights * (logs - mean) ** 2).sum() / freedom / weights.sum())
    margin = -float(special.stdtrit(freedom, (1 - LEVEL) / 2)) * math.sqrt(variance)
    return Control(len(logs), math.exp(mean), math.exp(mean - margin), math.exp(mean + margin))


def withheld(rows: Sequence[Compared], result: Control | None) -> list[Compared]:
    """Return the rows of a run, without the verdicts that came from time if its control fails."""
    if not (result and result.fails):
        return [*rows]
    return [
        replace(row, judgement=replace(row.judgement, verdict="undecided", reason=result.text), on=None)
        if row.judgement.low is not None
        else row
        for row in rows
    ]


def contradiction(judgement: Judgement, visits: Sequence[Visit]) -> str | None:
    """Return why visits in pairs of two processes contradict a ratio. Returns None if they do not.

    They do if their mean is nearer to 1 than to the ratio, and two standard errors from the ratio. The
    standard error is the larger of two: that between the visits, and that expected from the noise within.
    """
    if not visits or judgement.ratio is None:
        return None
    logs, noises = _turns(visits, unknown=math.inf)
    expected_error = math.sqrt((_PAIR_SD**2 + noises.mean()) / len(logs))
    between_error = float(logs.std(ddof=1)) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
    mean, ratio = float(logs.mean()), math.log(judgement.ratio)
    shortfall = (ratio - mean) * math.copysign(1.0, ratio)
    if shortfall < abs(ratio) / 2 or shortfall < _ERRORS * max(expected_error, between_error):
        return None
    recheck, original = units.ratio(math.exp(mean)), units.ratio(judgement.ratio)
    pairs = f"{units.count(len(logs), 'pair')} of processes"
    return f"{original} with both sides in one process, but {recheck} in {pairs}: not confirmed"


def _turns(visits: Sequence[Visit], unknown: float) -> tuple[Array, Array]:
    """Return the log ratios of the turns, and their noise within each visit [visits]."""
    samples = [sample(visit) for visit in visits]
    noises = np.array([row.turns_noise for row in samples])
    return np.array([row.turns for row in samples]), np.nan_to_num(noises, nan=unknown)
