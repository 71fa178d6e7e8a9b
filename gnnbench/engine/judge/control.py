"""The control of a run, an A/A test: the base is timed against itself."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ..ground import units
from ..ground.codec import Count, Positive
from .comparison import Compared
from .estimate import sample
from .evidence import USUAL_PAIR_VARIANCE
from .visit import Visit

LEVEL = 0.99
_FEWEST = 3


@dataclass(frozen=True)
class Control:
    """The mean ratio of times in two processes of the base, over all benchmarks with such a measurement."""

    visits: Count
    """Number of measurements of the base against itself."""
    ratio: Positive
    low: Positive
    """Lower bound of the interval at LEVEL; `high` is the upper bound."""
    high: Positive

    @property
    def fails(self) -> bool:
        """Whether the run shows a difference although the code is identical."""
        return not self.low <= 1 <= self.high

    @property
    def text(self) -> str:
        """The ratio with its interval as text, and the consequence if the control fails."""
        interval = units.interval(self.low, self.high)
        text = f"control, base against base: {units.ratio(self.ratio, changed=self.fails)} ({interval})"
        return f"{text}, so no times are judged: repeat the run on a quiet machine" if self.fails else text


def control(visits: Sequence[Visit]) -> Control | None:
    """Return the weighted mean ratio with Student's interval. Returns None if there are too few measurements.

    A weight is the reciprocal of the expected variance: between pairs of processes plus within a measurement.
    """
    if len(visits) < _FEWEST:
        return None
    samples = [sample(visit) for visit in visits]
    logs = np.array([row.turns for row in samples])
    noises = np.nan_to_num([row.turns_noise for row in samples])
    weights = 1 / (USUAL_PAIR_VARIANCE + noises)
    mean = float(np.average(logs, weights=weights))
    freedom = len(logs) - 1
    variance = float((weights * (logs - mean) ** 2).sum() / freedom / weights.sum())
    margin = -float(special.stdtrit(freedom, (1 - LEVEL) / 2)) * math.sqrt(variance)
    return Control(len(logs), math.exp(mean), math.exp(mean - margin), math.exp(mean + margin))


def withhold_verdicts(rows: Sequence[Compared], result: Control | None) -> list[Compared]:
    """Return the rows of a run. If its control fails, verdicts from times become undecided."""
    if not result or not result.fails:
        return list(rows)
    return [
        replace(row, judgement=replace(row.judgement, verdict="undecided", reason=result.text), on=None)
        if row.judgement.low is not None
        else row
        for row in rows
    ]
