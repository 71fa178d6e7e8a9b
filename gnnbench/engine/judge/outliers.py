"""Excludes outlier pairs, and finds out whether processes have two modes.

A pair is excluded if its ratio is over 3 times above or below that of the median pair. So one slow or fast
process excludes only its own pair, and what slows both sides of a pair excludes nothing. If processes have
two modes, the pairs whose sides are in the same mode are kept.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..ground import units

Array = NDArray[np.float64]

FACTOR = 3.0
"""A pair is an outlier if its ratio and the median pair's differ by more than this factor."""
MOST_EXCLUDED = 1 / 3
"""Largest share of outliers among the pairs, without those that two modes explain."""
_OFTEN = 0.1
"""Outliers are rare below this share of the pairs."""
_FEWEST_LOPSIDED, _FEWEST_OF_A_MODE = 3, 3
_APART = math.log(FACTOR)


class Modes(NamedTuple):
    """Two modes of processes."""

    apart: float
    """Factor between the modes."""
    pairs: int
    """Pairs whose sides are in different modes."""


@dataclass(frozen=True)
class Outliers:
    """The excluded pairs of one benchmark."""

    pairs: int = 0
    """All measured pairs, the excluded ones too."""
    above: int = 0
    """Pairs that were excluded because their ratio is far above that of the median pair."""
    below: int = 0
    contrary: int = 0
    """If the median pair changed by more than FACTOR: pairs that did not change as much in its direction."""
    modes: Modes | None = None

    @property
    def excluded(self) -> int:
        """Number of excluded pairs."""
        return self.above + self.below

    @property
    def doubt(self) -> str | None:
        """Why the kept pairs allow no verdict. None if they allow one."""
        # The sides of the median pair may be in different modes.
        if self.contrary > _OFTEN * self.pairs:
            return f"base and head differ by over {FACTOR:g}x in most pairs, not in all: possibly two modes"
        # Without a change, excluded pairs are as often above as below (McNemar, 1947). Sign test: three of
        # three and five of six have a probability of at most 1/8.
        majority = max(self.above, self.below)
        surplus = 2 * majority - self.excluded
        lopsided = special.bdtrc(majority - 1, self.excluded, 0.5) if self.excluded else 1.0
        if surplus >= _FEWEST_LOPSIDED and surplus > _OFTEN * self.pairs and lopsided <= 1 / 8:
            if self.modes:
                return "the share of processes in the slower mode differs between the sides"
            return "the excluded pairs are mostly above or mostly below the median pair"
        if self.excluded - (self.modes.pairs if self.modes else 0) > MOST_EXCLUDED * self.pairs:
            return "too many pairs are outliers"
        return None

    @property
    def text(self) -> str:
        """The excluded pairs, to be appended to a reason. Empty if there are none."""
        if not self.excluded:
            return ""
        pairs = f"; {units.count(self.excluded, 'pair')} excluded"
        if self.modes:
            return f"{pairs} because the sides are in different modes, {self.modes.apart:.1f}x apart"
        return f"{pairs}: {self.above} over {FACTOR:g}x above the median pair, {self.below} below"


def kept(base: Array, head: Array) -> NDArray[np.bool_]:
    """Return which pairs are kept [pairs, m]; the median pair always is. NaN if not measured."""
    return _near(head - base - _middle(head - base))


def modes_shown(base: Array, head: Array) -> bool:
    """Tell whether a process was over FACTOR slower than another of its side, but not in most benchmarks.

    A process that is slow in most of them has no mode: something else slows it.
    """
    for side in (base, head):
        is_slow = side - np.fmin.reduce(side, axis=0, initial=np.inf) > _APART
        is_minority = is_slow.sum(axis=1) <= np.isfinite(side).sum(axis=1) / 2
        if (is_slow.any(axis=1) & is_minority).any():
            return True
    return False


def outliers(base: Array, head: Array) -> Outliers:
    """Count the excluded pairs of one benchmark, and look for two modes."""
    (middle,) = _middle((head - base)[:, None])
    excess = head - base - middle
    keeps = _near(excess[:, None])[:, 0]
    contrary = np.sign(middle) * (head - base) <= _APART
    return Outliers(
        len(base),
        above=int((~keeps & (excess > 0)).sum()),
        below=int((~keeps & (excess < 0)).sum()),
        contrary=int(contrary.sum()) if np.abs(middle) > _APART else 0,
        modes=_modes(base + middle / 2, head - middle / 2, int((~keeps).sum())),
    )


def _near(excess: Array) -> NDArray[np.bool_]:
    """Return which pairs [pairs, m] are near the median pair; two pairs equally far from it both are."""
    distance = np.abs(excess)
    with np.errstate(invalid="ignore"):
        return np.asarray(distance <= np.maximum(_APART, np.fmin.reduce(distance, axis=0, initial=np.inf)))


def _middle(log_ratios: Array) -> Array:
    """Return the median over pairs [m]; for an even number, the middle value that is nearer to 0."""
    count = np.isfinite(log_ratios).sum(axis=0)
    if not len(log_ratios):
        return np.full(len(count), np.nan)
    ordered, columns = np.sort(log_ratios, axis=0), np.arange(len(count))
    low, high = ordered[np.maximum(count - 1, 0) // 2, columns], ordered[count // 2, columns]
    return np.where(low == -high, 0.0, np.where(np.abs(low) < np.abs(high), low, high))


def _modes(base: Array, head: Array, excluded: int) -> Modes | None:
    """Return two modes if the widest gap between the times of all processes explains most excluded pairs."""
    levels = np.sort(np.concatenate([base, head]))
    fewest = max(_FEWEST_OF_A_MODE, math.ceil(_OFTEN * len(levels)))
    gaps = (levels[1:] - levels[:-1])[fewest - 1 : len(levels) - fewest]
    if not len(gaps) or gaps.max() <= _APART:
        return None
    split = fewest + int(np.argmax(gaps))
    pairs = int(((base >= levels[split]) != (head >= levels[split])).sum())
    if pairs <= excluded / 2:
        return None
    factor = float(np.exp(np.median(levels[split:]) - np.median(levels[:split])))
    return Modes(factor, pairs)
