"""Which pairs are excluded as outliers, and whether processes come in two modes.

The ratio of a pair is compared with that of the middle pair: a pair that is over 3 times above or below it
is excluded. So what slows both sides of a pair down excludes nothing, and one odd process, slow or fast,
excludes one pair. Where processes come in two modes, the pairs that are kept are those whose sides are in the
same one.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]

FACTOR = 3.0
"""Times that a pair's ratio is above or below the middle pair's, from which it is an outlier."""
MOST_EXCLUDED = 1 / 3
"""Share of the pairs that may be outliers, other than those that two modes explain."""
_OFTEN = 0.1
"""Share from which outliers are no longer rare."""
_FEWEST_LOPSIDED, _FEWEST_OF_A_MODE = 3, 3
_APART = math.log(FACTOR)


class Modes(NamedTuple):
    """Two modes that processes come in."""

    apart: float
    """Times that the slower one takes longer."""
    slow_base: int
    """Processes of the base in the slower mode."""
    slow_head: int
    pairs: int
    """Whose sides are in different modes."""


@dataclass(frozen=True)
class Outliers:
    """What is known of the excluded pairs of one benchmark."""

    pairs: int = 0
    """Measured, excluded ones too."""
    slow_base: int = 0
    """Processes of the base that were slow, and so excluded their pair."""
    fast_base: int = 0
    slow_head: int = 0
    fast_head: int = 0
    contrary: int = 0
    """Where the sides of the middle pair differ by more than FACTOR: pairs that do not, or the other way."""
    modes: Modes | None = None

    @property
    def excluded(self) -> int:
        """Pairs that are no evidence."""
        return self.slow_base + self.fast_base + self.slow_head + self.fast_head

    @property
    def doubt(self) -> str | None:
        """Why the pairs that are kept decide nothing, whatever they say."""
        # Of two modes the middle pair may have one on each side, as the weight of the modes has it.
        if self.contrary > _OFTEN * self.pairs:
            return f"most pairs differ by over {FACTOR:g} times, others do not: processes may have two modes"
        # Of pairs that disagree as many should point either way (McNemar, 1947). Three of three, five of six:
        # fair coins fall so once in eight times or less (sign test).
        above, below = self.slow_head + self.fast_base, self.slow_base + self.fast_head
        often = abs(above - below) > _OFTEN * self.pairs
        lopsided = special.bdtrc(max(above, below) - 1, above + below, 0.5) if self.excluded else 1.0
        if abs(above - below) >= _FEWEST_LOPSIDED and often and lopsided <= 1 / 8:
            if self.modes:
                return "the weight of the two modes differs between the sides"
            return "processes of one side are outliers far more often"
        if self.excluded - (self.modes.pairs if self.modes else 0) > MOST_EXCLUDED * self.pairs:
            return "too many pairs are outliers"
        return None

    @property
    def text(self) -> str:
        """Say what was excluded and why, to follow a reason; nothing where nothing was."""
        if not self.excluded:
            return ""
        if self.modes:
            return (
                f"; processes have two modes {self.modes.apart:.1f} times apart: {self.modes.slow_base} of"
                f" {self.pairs} of base and {self.modes.slow_head} of {self.pairs} of head are in the slower"
                f" one; {self.excluded} pairs excluded, whose sides are not in the same mode"
            )
        kinds = {
            "slow of base": self.slow_base,
            "fast of base": self.fast_base,
            "slow of head": self.slow_head,
            "fast of head": self.fast_head,
        }
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
        return (
            f"; {self.excluded} pairs excluded as outliers, a process being over {FACTOR:g} times off its"
            f" side's middle: {counts}"
        )


def kept(base: Array, head: Array) -> NDArray[np.bool_]:
    """Tell which pairs are evidence: the middle one is, if any.

    Args:
        base: logarithms of its times by pair and benchmark [pairs, m]; NaN where it was not measured.
        head: likewise.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(head - base - _middle(head - base)) <= _APART)


def outliers(base: Array, head: Array) -> Outliers:
    """Say what is excluded of one benchmark, and how far that is explained by two modes.

    Args:
        base: logarithms of its times by pair [pairs].
        head: likewise.
    """
    (middle,) = _middle((head - base)[:, None])
    excess = head - base - middle
    keeps = np.abs(excess) <= _APART
    # A process is odd that is farther from where those of its side are that were kept.
    off_base, off_head = (side - np.sort(side[keeps])[keeps.sum() // 2] for side in (base, head))
    by_head = np.abs(off_head) >= np.abs(off_base)
    above, below = ~keeps & (excess > 0), ~keeps & (excess < 0)
    contrary = np.sign(middle) * (head - base) <= _APART
    return Outliers(
        len(base),
        slow_base=int((below & ~by_head).sum()),
        fast_base=int((above & ~by_head).sum()),
        slow_head=int((above & by_head).sum()),
        fast_head=int((below & by_head).sum()),
        contrary=int(contrary.sum()) if np.abs(middle) > _APART else 0,
        modes=_modes(base + middle / 2, head - middle / 2, int((~keeps).sum())),
    )


def _middle(log_ratios: Array) -> Array:
    """Return the median over pairs [m]; of an even number the one of the two that is nearer to no change."""
    count = np.isfinite(log_ratios).sum(axis=0)
    if not len(log_ratios):
        return np.full(len(count), np.nan)
    ordered, columns = np.sort(log_ratios, axis=0), np.arange(len(count))
    low, high = ordered[np.maximum(count - 1, 0) // 2, columns], ordered[count // 2, columns]
    return np.where(low == -high, 0.0, np.where(np.abs(low) < np.abs(high), low, high))


def _modes(base: Array, head: Array, excluded: int) -> Modes | None:
    """Find the widest gap between processes of both sides, where it makes two modes.

    Args:
        base: logarithms of its times by pair [pairs].
        head: the same, without what the sides differ by.
        excluded: pairs, most of which the modes are to explain.
    """
    levels = np.sort(np.concatenate([base, head]))
    fewest = max(_FEWEST_OF_A_MODE, math.ceil(_OFTEN * len(levels)))
    gaps = (levels[1:] - levels[:-1])[fewest - 1 : len(levels) - fewest]
    if not len(gaps) or gaps.max() <= _APART:
        return None
    split = fewest + int(np.argmax(gaps))
    slow_base, slow_head = base >= levels[split], head >= levels[split]
    differ = int((slow_base != slow_head).sum())
    if differ <= excluded / 2:
        return None
    apart = float(np.exp(np.median(levels[split:]) - np.median(levels[:split])))
    return Modes(apart, int(slow_base.sum()), int(slow_head.sum()), differ)
