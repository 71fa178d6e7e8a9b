"""Verdicts: on a log ratio with its standard error, and on a benchmark that runs on a GPU."""

import math
import sys
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Annotated, Literal, Self

from msgspec import Meta
from scipy import special

from ..ground import units
from ..ground.codec import UNSAVED, Count, Level, Positive
from ..ground.settings import NONE, Settings
from .accepted import NONE as NOTHING_ACCEPTED
from .accepted import Accepted

_WIDEST = 700.0  # exp() of a larger number overflows
_POWER = 0.9
"""Probability of finding a slowdown of the minimum detectable effect."""
_Bound = Annotated[float, Meta(gt=0, le=sys.float_info.max)]

Verdict = Literal["slower", "faster", "same", "undecided", "incomparable", "accepted", "ignored"]
"""`accepted`: slower, but by no more than an entry accepts. `ignored`: a rule ignores the benchmark."""


@dataclass(frozen=True)
class Thresholds:
    """The minimum effect of interest and the confidence levels of verdicts."""

    effect: Level
    """Minimum effect of interest, as a fraction."""
    family_level: Level = 0.99
    """Level of the simultaneous intervals of all benchmarks of a run (Bonferroni)."""
    own_level: Level = 0.95
    """Level of the per-benchmark interval."""
    rules: Settings = NONE
    """The project's settings for single benchmarks."""
    accepted: Accepted = field(default_factory=lambda: NOTHING_ACCEPTED, metadata=UNSAVED)

    def of(self, name: str) -> Self:
        """Return the thresholds of one benchmark. A rule of the settings may set its effect."""
        effect = self.rules.value("effect", name)
        return self if effect is None else replace(self, effect=effect)

    @property
    def of_gpu(self) -> Self:
        """Thresholds of the GPU's own time: a third of the effect, as it varies less; half the error rate."""
        return replace(self, effect=self.effect / 3, family_level=(1 + self.family_level) / 2)

    @property
    def of_host(self) -> Self:
        """Thresholds of wall time if GPU time is judged too: three times the effect, half the error rate."""
        return replace(self, effect=min(3 * self.effect, 0.9), family_level=(1 + self.family_level) / 2)


class Reason(Enum):
    """Why a benchmark has its verdict. Users see the text of the member."""

    EXCLUDES_ONE = "the simultaneous {family_level} interval excludes 1"
    WITHIN_EFFECT = "the per-benchmark {own_level} interval lies within {effect} of 1"
    SMALL_CHANGE = "a significant change, but smaller than {effect}"
    WIDE_INTERVAL = "the interval is too wide"
    OTHER_MEAN = "the mean time of a block changed by this ratio, unlike the fastest tenth of the calls"
    TOO_FEW_BLOCKS = "too few measurements for an interval"
    OTHER_RESULT = "a different output"
    ONLY_REPEATED = "faster only when repeated"
    ONE_PROCESS = "one process: the interval covers variation within it only"

    def text(self, thresholds: Thresholds) -> str:
        """Return the reason in words, with the levels and the effect of the verdict."""
        return self.value.format(
            family_level=units.level(thresholds.family_level),
            own_level=units.level(thresholds.own_level),
            effect=units.fraction(thresholds.effect),
        )


@dataclass(frozen=True)
class Judgement:
    """The verdict on one benchmark, with its reason and its numbers."""

    verdict: Verdict
    reason: str
    ratio: Positive | None = None
    """Time of the head / time of the base. None if a side has no time."""
    low: _Bound | None = None
    """Lower bound of the simultaneous interval; `high` is the upper bound."""
    high: _Bound | None = None
    own_low: _Bound | None = None
    """Lower bound of the per-benchmark interval; `own_high` is the upper bound."""
    own_high: _Bound | None = None
    minimum_detectable_effect: float | None = None
    """The slowdown that would be found with a power of 90 %, as a fraction. None if there is no interval."""
    shrunk: bool = False
    """Whether most degrees of freedom of the variance between processes come from other benchmarks."""
    base_processes: Count = 0
    head_processes: Count = 0
    same_code: bool = False
    """Whether the verdict is `same`, without timing, because both sides run the same code."""
    code: Reason | None = field(default=None, metadata=UNSAVED)
    """The member of Reason that `reason` comes from. None if `reason` has another text."""

    @property
    def judged(self) -> bool:
        """Whether the sides could be compared: there is an interval, or both sides do the same work."""
        return self.verdict != "incomparable" and (self.low is not None or self.verdict == "same")

    @property
    def changed(self) -> bool | None:
        """Whether the simultaneous interval excludes 1. None if there is no interval."""
        return None if self.low is None or self.high is None else not self.low <= 1 <= self.high

    def looks_slower(self, thresholds: Thresholds) -> bool:
        """Tell whether the ratio is above 1 by at least the minimum effect, and by about one standard error.

        Such a benchmark is measured again. A needless measurement only costs time.
        """
        if self.ratio is None or self.ratio < 1 + thresholds.effect:
            return False
        if self.own_high is None:
            return self.code is Reason.TOO_FEW_BLOCKS  # several processes would have an interval
        return self.ratio**2 > self.own_high / self.ratio


SAME_CODE = Judgement("same", "runs the same code", same_code=True)
SAME_WORK = Judgement("same", "equal numbers of operators, copies, kernels, library calls and Python calls")
"""The judgement on the host if the counts of its work are equal on both sides."""
SAME_KERNELS = Judgement("same", "launches the same kernels on the same values")
"""The judgement on the GPU's own time if the kernels are equal on both sides."""
_BOUND = 0.8
"""A benchmark is GPU-bound if the GPU works for more than this share of the wall time."""


@dataclass(frozen=True)
class GpuAndHost:
    """Both verdicts on a benchmark that runs on a GPU, and the head's times."""

    gpu: Judgement
    """The verdict on the time between two GPU events. During a round, the GPU works without a gap."""
    host: Judgement
    """`same` if the counts of the host's work are equal, otherwise the verdict on wall time."""
    gpu_seconds: Positive
    wall_seconds: Positive

    @property
    def judgement(self) -> Judgement:
        """The verdict on the benchmark: the host's if only the host is slower, otherwise the GPU's."""
        is_host_alone_slower = self.host.verdict == "slower" and self.gpu.verdict != "slower"
        return self.host if is_host_alone_slower else self.gpu

    @property
    def note(self) -> str:
        """A note on which time is judged, and on whether the GPU or the host limits the speed."""
        bound = "GPU" if self.gpu_seconds > _BOUND * self.wall_seconds else "host"
        times = f"{units.seconds(self.gpu_seconds)} of {units.seconds(self.wall_seconds)}"
        clock = "wall time, as the host is slower" if self.judgement is self.host else "the GPU's own time"
        return f"judged by {clock}: {bound}-bound, the GPU works {times}; host: {self.host.reason}"


def require_confirmation(judgement: Judgement, processes: int) -> Judgement:
    """Change *slower* to *undecided* if too few processes without contention confirmed it.

    `processes`: number of new processes. Two of them, or the only one, must have run without contention.
    """
    if judgement.verdict == "slower" and judgement.head_processes < 1 + min(processes, 2):
        reason = "too few new processes without CPU contention confirmed it"
        return replace(judgement, verdict="undecided", reason=reason)
    return judgement


def check_mean(judgement: Judgement, mean: Judgement, thresholds: Thresholds) -> Judgement:
    """Return a judgement on fast calls, or *undecided* if the judgement on the mean call contradicts it."""
    low, high, limit = mean.own_low or 0.0, mean.own_high or math.inf, 1 + thresholds.effect
    contradicts = {"same": low > limit or high < 1 / limit, "slower": high < 1, "faster": low > 1}
    if not contradicts.get(judgement.verdict):
        return judgement
    # If the simultaneous interval of the mean includes 1, further pairs may change the judgement.
    reason, code = Reason.OTHER_MEAN.text(thresholds), Reason.OTHER_MEAN if mean.changed else None
    return replace(mean, verdict="undecided", reason=reason, code=code)


def judge_ratio(
    log_ratio: float,
    error: float,
    degrees_of_freedom: float,
    thresholds: Thresholds,
    family: int,
    least: float = 0.0,
) -> Judgement:
    """Judge a log ratio by its standard error.

    `family`: number of benchmarks that the simultaneous interval covers. `least`: the largest log ratio that
    an outlier could cause. A smaller effect cannot be detected.
    """
    own_width = _own_width(error, degrees_of_freedom, thresholds)
    family_width = error * _quantile((1 - thresholds.family_level) / 2 / family, degrees_of_freedom)
    effect = math.log1p(thresholds.effect)
    detectable = max(family_width, effect, least) + _margin(error, degrees_of_freedom)
    verdict: Verdict = "undecided"
    code = Reason.SMALL_CHANGE if abs(log_ratio) > family_width else Reason.WIDE_INTERVAL
    if abs(log_ratio) > family_width and abs(log_ratio) >= effect:
        verdict, code = "slower" if log_ratio > 0 else "faster", Reason.EXCLUDES_ONE
    elif abs(log_ratio) + own_width < effect:
        verdict, code = "same", Reason.WITHIN_EFFECT
    low, high, own_low, own_high = (
        math.exp(_clip(log_ratio + width)) for width in (-family_width, family_width, -own_width, own_width)
    )
    reason, fraction = code.text(thresholds), math.expm1(_clip(detectable))
    return Judgement(verdict, reason, math.exp(log_ratio), low, high, own_low, own_high, fraction, code=code)


def detectable_after(
    first: float, again: float, degrees_of_freedom: float, thresholds: Thresholds, family: int, least: float
) -> float:
    """Return the minimum detectable effect, as a fraction, if benchmarks that look slower are timed again.

    `first`, `again`: standard errors of the log ratio before and after the new processes.
    """
    threshold = max(math.log1p(thresholds.effect), _own_width(first, degrees_of_freedom, thresholds) / 2)
    threshold += _margin(first, degrees_of_freedom)
    judgement = judge_ratio(0.0, again, degrees_of_freedom, thresholds, family, least)
    assert judgement.minimum_detectable_effect is not None
    return max(math.expm1(_clip(threshold)), judgement.minimum_detectable_effect)


def _own_width(error: float, degrees_of_freedom: float, thresholds: Thresholds) -> float:
    """Return the half-width of the per-benchmark interval of a log ratio."""
    return error * _quantile((1 - thresholds.own_level) / 2, degrees_of_freedom)


def _quantile(tail: float, degrees_of_freedom: float) -> float:
    """Return Student's t quantile with upper tail `tail`, without scipy.stats (0.5 s to import)."""
    return -float(special.stdtrit(degrees_of_freedom, tail))


def _margin(error: float, degrees_of_freedom: float) -> float:
    """Return how far a log ratio must lie beyond a threshold to exceed it with the power `_POWER`."""
    return error * _quantile(1 - _POWER, degrees_of_freedom)


def _clip(log: float) -> float:
    """Limit a logarithm to what `exp` can compute. With two processes, an interval may have any width."""
    return min(max(log, -_WIDEST), _WIDEST)
