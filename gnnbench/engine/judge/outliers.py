"""Excludes outlier pairs of processes, and finds out whether processes have two modes.

A pair is excluded if its ratio and the median pair's ratio differ by more than a factor of 3. So one slow or
fast process excludes only its own pair. Neither a disturbance of both sides nor a mode in which both sides
are excludes their pair. Times are natural logarithms [pairs, benchmarks].
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..ground import units
from .verdict import Verdict

Array = NDArray[np.float64]

FACTOR = 3.0
"""A pair is an outlier if its ratio and the median pair's ratio differ by more than this factor."""
MOST_EXCLUDED = 1 / 3
"""Largest share of outliers, not counting pairs whose sides are in different modes."""
_RARE = 0.1
"""Up to this share of the pairs, outliers count as rare."""
_FEWEST_OF_A_MODE = 3
_LOG_FACTOR = math.log(FACTOR)
_SWAPPED = 2.5  # swapped modes are 2 log ratios apart; a broken process is farther away


@dataclass(frozen=True)
class Outliers:
    """The excluded pairs of one benchmark."""

    pairs: int = 0
    """Number of measured pairs, including excluded ones."""
    above: int = 0
    """Number of pairs excluded because their ratio is far above the median pair's ratio."""
    below: int = 0
    without_change: int = 0
    """Number of excluded pairs without a change like the median pair's, if they may be in other modes."""
    one_sided: int = 0
    """Number of pairs excluded in this benchmark, but not in most benchmarks that the pair measured. 0 if
    some of them are above the median pair and others below."""
    in_modes: int = 0
    """Number of pairs whose sides are in different modes. 0 if processes do not have two modes."""

    @property
    def excluded(self) -> int:
        """Number of excluded pairs."""
        return self.above + self.below

    def doubt(self, verdict: Verdict) -> str | None:
        """Return why the kept pairs do not allow a verdict. Returns None if they allow it."""
        # The sides of the median pair may be in different modes.
        if self.without_change > _RARE * self.pairs:
            return "excluded pairs lack the change of most pairs: possibly two modes"
        # Without a change, excluded pairs are as often above as below (McNemar, 1947). In a sign test, three
        # of three and five of six have a probability of at most 1/8. For *same*, one of one is enough.
        majority = max(self.above, self.below)
        surplus = 2 * majority - self.excluded
        lopsided = special.bdtrc(majority - 1, self.excluded, 0.5) if self.excluded else 1.0
        is_lopsided = surplus > _RARE * self.pairs and lopsided <= 1 / 8
        if is_lopsided or (verdict == "same" and self.one_sided > _RARE * self.pairs):
            return "one side may be slower in some of its processes"
        if self.excluded - self.in_modes > MOST_EXCLUDED * self.pairs:
            return "too many pairs are outliers"
        return None

    @property
    def text(self) -> str:
        """The end of a sentence about the excluded pairs. Empty if no pair is excluded."""
        if not self.excluded:
            return ""
        pairs = f"; {units.count(self.excluded, 'pair')} excluded"
        if self.in_modes:
            return f"{pairs} because the sides are in different modes, over {FACTOR:g}x apart"
        return f"{pairs}: {self.above} over {FACTOR:g}x above the median pair, {self.below} below"


def kept_pairs(base: Array, head: Array) -> NDArray[np.bool_]:
    """Return which pairs are not excluded [pairs, benchmarks]. Times that a pair did not measure are NaN."""
    distance = np.abs(head - base - _median_pair(head - base))
    nearest = np.fmin.reduce(distance, axis=0, initial=np.inf)
    with np.errstate(invalid="ignore"):
        return np.asarray(distance <= np.maximum(_LOG_FACTOR, nearest))


def in_other_mode(keeps: NDArray[np.bool_], is_measured: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return where a pair is excluded, but not in most benchmarks that it measured [pairs, benchmarks].

    If a pair is excluded in most benchmarks, this is no mode: something slowed or sped up a process.
    """
    is_excluded = is_measured & ~keeps
    most = np.maximum(is_measured.sum(axis=1) / 2, 1)
    return np.asarray(is_excluded & (is_excluded.sum(axis=1) <= most)[:, None])


def outliers(
    base: Array, head: Array, keeps: NDArray[np.bool_], is_other_mode: NDArray[np.bool_]
) -> Outliers:
    """Count the excluded pairs of one benchmark [pairs], and look for two modes.

    `keeps`: see `kept_pairs`. `is_other_mode`: see `in_other_mode`.
    """
    (median,) = _median_pair((head - base)[:, None])
    excess = head - base - median
    above, below = (int((~keeps & (side > 0)).sum()) for side in (excess, -excess))
    lacks_change = ~keeps & (excess * median < 0) & (np.abs(excess) < _SWAPPED * np.abs(median))
    directions = np.sign(excess[is_other_mode])
    return Outliers(
        len(base),
        above,
        below,
        int(lacks_change.sum()),
        one_sided=len(directions) if len({*directions}) == 1 else 0,
        in_modes=_pairs_in_modes(base + median / 2, head - median / 2, int((~keeps).sum())),
    )


def _median_pair(log_ratios: Array) -> Array:
    """Return the median over pairs [m]. Of two middle values, it is the one nearer to 0. 0 for a tie."""
    count = np.isfinite(log_ratios).sum(axis=0)
    if not len(log_ratios):
        return np.full(len(count), np.nan)
    ordered, columns = np.sort(log_ratios, axis=0), np.arange(len(count))
    low, high = ordered[np.maximum(count - 1, 0) // 2, columns], ordered[count // 2, columns]
    return np.where(low == -high, 0.0, np.where(np.abs(low) < np.abs(high), low, high))


def _pairs_in_modes(base: Array, head: Array, excluded: int) -> int:
    """Return `Outliers.in_modes`: the widest gap between times must explain most excluded pairs."""
    times = np.sort(np.concatenate([base, head]))
    fewest = max(_FEWEST_OF_A_MODE, math.ceil(_RARE * len(times)))
    gaps = np.diff(times)[fewest - 1 : len(times) - fewest]
    if not len(gaps) or gaps.max() <= _LOG_FACTOR:
        return 0
    split = fewest + int(np.argmax(gaps))
    pairs = int(((base >= times[split]) != (head >= times[split])).sum())
    return pairs if pairs > excluded / 2 else 0
