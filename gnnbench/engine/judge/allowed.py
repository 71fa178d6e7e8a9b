"""How much slower a benchmark may be, by its accepted slowdowns.

The accepted ratios are multiplied. The difference between the measured log ratio and that of the product
decides. Both have a simultaneous interval, with independent errors. So the half-width of the difference is
the square root of the sum of the squares.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from ..ground import units
from ..ground.codec import Positive
from .accepted import Entry
from .verdict import Judgement, Thresholds


@dataclass(frozen=True)
class Allowed:
    """How much slower the accepted slowdowns allow a benchmark to be."""

    ratio: Positive
    """Accepted time of the head / time of the base."""
    low: Positive
    """Lower bound of the interval of `ratio`; `high` is the upper one."""
    high: Positive
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Self | None:
        """Return what entries allow together. Returns None if none of them accepts a longer time."""
        slowing = [row for row in entries if row.slows]
        if not slowing:
            return None
        ratio = math.prod(row.ratio for row in slowing)
        factor = math.exp(math.hypot(*(row.half_width for row in slowing)))
        return cls(ratio, ratio / factor, ratio * factor, tuple(dict.fromkeys(row.reason for row in slowing)))

    def beyond(self, judgement: Judgement) -> tuple[float, float, float]:
        """Return the measured ratio / the accepted one, and the bounds of its interval."""
        assert judgement.ratio
        assert judgement.high
        ratio = judgement.ratio / self.ratio
        widths = math.log(judgement.high / judgement.ratio), math.log(self.high / self.ratio)
        factor = math.exp(math.hypot(*widths))
        return ratio, ratio / factor, ratio * factor

    def is_exceeded(self, judgement: Judgement, thresholds: Thresholds) -> bool:
        """Tell whether the measured ratio exceeds the accepted one by the effect, and more than by chance."""
        ratio, low, _ = self.beyond(judgement)
        return low > 1 and ratio >= 1 + thresholds.effect

    def is_settled(self, judgement: Judgement, thresholds: Thresholds) -> bool:
        """Tell whether a slowdown surely exceeds the accepted one, or surely does not.

        It does not if the per-benchmark interval lies below the accepted ratio plus the effect of interest.
        """
        if judgement.verdict != "slower":
            return True
        is_low = judgement.own_high is not None and judgement.own_high < self.ratio * (1 + thresholds.effect)
        return is_low or self.is_exceeded(judgement, thresholds)

    def notes(self, judgement: Judgement) -> tuple[str, ...]:
        """Return a note for verdict tables on the accepted slowdown, or on the part that exceeds it."""
        reasons = "; ".join(self.reasons)
        if judgement.verdict == "accepted":
            return (f"accepted {units.ratio(self.ratio)} ({units.interval(self.low, self.high)}): {reasons}",)
        if judgement.verdict != "slower":
            return ()
        ratio, low, high = self.beyond(judgement)
        excess = f"{units.ratio(ratio, changed=True)} ({units.interval(low, high)})"
        return (f"{excess} beyond the accepted {units.ratio(self.ratio)}: {reasons}",)
