"""Compares the measured slowdown of a benchmark with the slowdowns that a project has accepted.

If several slowdowns are accepted, their ratios are multiplied. The measured log ratio minus the accepted log
ratio decides. Both have simultaneous intervals with independent errors, so the half-width of the interval of
their difference is the square root of the sum of their squared half-widths.
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
    """The slowdown that the accepted entries of a benchmark allow together."""

    ratio: Positive
    """Accepted time of the head / time of the base."""
    low: Positive
    """Lower bound of the interval of `ratio`; `high` is the upper bound."""
    high: Positive
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Self | None:
        """Return the slowdown that entries allow together. Returns None if no entry accepts a slowdown."""
        slowing = [row for row in entries if row.slows]
        if not slowing:
            return None
        ratio = math.prod(row.ratio for row in slowing)
        factor = math.exp(math.hypot(*(row.half_width for row in slowing)))
        return cls(ratio, ratio / factor, ratio * factor, tuple(dict.fromkeys(row.reason for row in slowing)))

    def beyond(self, judgement: Judgement) -> tuple[float, float, float]:
        """Return the measured ratio divided by the accepted ratio, and the bounds of this quotient."""
        assert judgement.ratio
        assert judgement.high
        ratio = judgement.ratio / self.ratio
        widths = math.log(judgement.high / judgement.ratio), math.log(self.high / self.ratio)
        factor = math.exp(math.hypot(*widths))
        return ratio, ratio / factor, ratio * factor

    def is_exceeded(self, judgement: Judgement, thresholds: Thresholds) -> bool:
        """Tell whether a slowdown exceeds the accepted one significantly, and by the minimum effect."""
        ratio, low, _ = self.beyond(judgement)
        return low > 1 and ratio >= 1 + thresholds.effect

    def is_settled(self, judgement: Judgement, thresholds: Thresholds) -> bool:
        """Tell whether it is clear that a slowdown exceeds the accepted one, or that it does not.

        Clearly it does not if the per-benchmark interval lies below the accepted ratio plus the effect.
        """
        if judgement.verdict != "slower":
            return True
        limit = self.ratio * (1 + thresholds.effect)
        is_below = judgement.own_high is not None and judgement.own_high < limit
        return is_below or self.is_exceeded(judgement, thresholds)

    def notes(self, judgement: Judgement) -> tuple[str, ...]:
        """Return a note on the accepted slowdown, or on how far the measured slowdown exceeds it."""
        reasons, accepted = "; ".join(self.reasons), f"accepted {units.ratio(self.ratio, changed=True)}"
        if judgement.verdict == "accepted":
            return (f"{accepted} ({units.interval(self.low, self.high)}): {reasons}",)
        if judgement.verdict != "slower":
            return ()
        ratio, low, high = self.beyond(judgement)
        excess = f"{units.ratio(ratio, changed=True)} ({units.interval(low, high)})"
        return (f"{excess} beyond the {accepted}: {reasons}",)
