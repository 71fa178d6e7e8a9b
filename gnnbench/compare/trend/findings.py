"""Changes in one series: steps and drifts of its level, and changes of its spread."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from . import changes, noise, ramp, spread
from .penalty import LEVEL_SHORTEST, Penalty

Array = NDArray[np.float64]

NOISIER = 1.5
"""Least ratio of standard deviations that counts as a change of spread."""
_OWN = 1.96
"""Standard errors on each side of a 95 % interval."""
_MEDIAN = 1.2533
"""Standard error of the median / of the mean, for a normal distribution."""
_SPREAD = 1.17
"""Standard error of the log of a standard deviation from a median (MAD), times the root of the runs."""
_ROUNDS = 2
"""Iterations of estimating the noise from the levels and the levels from the noise."""
_MOST_STEPS = 12
"""Most steps that are tried as one drift."""


@dataclass(frozen=True)
class SeriesChange:
    """One change. `first`, `at` and `last` are places in the series, from 0."""

    kind: Literal["step", "drift", "spread"]
    first: int
    """Start of the 95 % range of `at`; for a drift, the last run at the old level."""
    at: int
    """First run of the new level or spread."""
    last: int
    """End of the 95 % range of `at`; for a drift, the same as `at`."""
    before: float
    """Time in nanoseconds; for a change of spread, standard deviation of the log time."""
    after: float
    ratio: float
    """after / before."""
    low: float
    """Lower bound of the ratio's 95 % interval; `high` is the upper one."""
    high: float

    @property
    def slower(self) -> bool:
        """Whether times became longer; False for a change of spread."""
        return self.kind != "spread" and self.ratio > 1

    def matters(self, effect: float) -> bool:
        """Tell whether the change is at least the minimum effect of interest."""
        least = NOISIER if self.kind == "spread" else 1 + effect
        return abs(math.log(self.ratio)) >= math.log(least)


def examine(logs: Array, penalty: Penalty, level: float, effect: float) -> list[SeriesChange]:
    """Find all changes of a series, in the order of time.

    Args:
        logs: natural logarithms of nanoseconds, in the order of time [n], n at least SHORTEST_SERIES.
        penalty: the penalty for this length.
        level: false positive rate for a series without changes.
        effect: minimum effect of interest, as a fraction; smaller steps may add up to a drift.
    """
    each = level / 2
    of_scores = penalty.spread.penalty(each)
    stretches = _stretches(spread.deviations(logs), of_scores)
    for _ in range(_ROUNDS):
        values = noise.winsorized(logs, stretches)
        units = _units(values, stretches)
        steps = _level_changes(values, units, stretches, penalty.level.penalty(each))
        steps = _confirmed(logs, steps, of_scores)
        fitted, found = _explained(logs, values, units, steps, math.log1p(effect))
        earlier, stretches = stretches, _stretches(logs - fitted, of_scores, steps)
        if stretches == earlier:
            break
    return sorted([*found, *_spreads(logs - fitted, stretches)], key=lambda one: one.at)


def _stretches(deviations: Array, penalty: float, steps: Sequence[int] = ()) -> list[slice]:
    """Cut a series where its spread changes; a near step of the level is taken as the same change."""
    found = changes.segment(spread.scores(deviations), penalty, spread.SHORTEST)
    moved = [_at_step(edge, steps) for edge in found]
    edges = [[0, *places, len(deviations)] for places in (moved, found)]
    chosen = edges[0] if min(np.diff(edges[0])) >= spread.SHORTEST else edges[1]
    return [slice(*pair) for pair in pairwise(chosen)]


def _at_step(edge: int, steps: Sequence[int]) -> int:
    nearest = min(steps, key=lambda step: abs(step - edge), default=edge)
    return nearest if abs(nearest - edge) < spread.SHORTEST else edge


def _units(values: Array, stretches: list[slice]) -> Array:
    """Return the standard deviation of each run, from stretches of equal spread [n]."""
    whole = noise.estimate(values)
    units = np.empty(len(values))
    for part in stretches:
        own = noise.estimate(values[part])
        units[part] = max(own.unit, own.sd * whole.unit / whole.sd)
    return units


def _level_changes(values: Array, units: Array, stretches: list[slice], penalty: float) -> list[int]:
    """Return the steps: within each stretch of equal spread, and where two stretches meet."""
    steps: list[int] = []
    for part in stretches:
        inner = changes.segment(values[part] / units[part], penalty, LEVEL_SHORTEST)
        steps.extend([part.start, *(part.start + place for place in inner)])
    steps.remove(0)
    for meeting in (part.start for part in stretches[1:]):
        edges = [0, *steps, len(values)]
        place = edges.index(meeting)
        start, end = edges[place - 1], edges[place + 1]
        # The change of spread gives only an approximate place for the change of level.
        likelihood = changes.places(values[start:end], units[start:end], LEVEL_SHORTEST)
        best = int(np.argmax(likelihood))
        steps[place - 1 : place] = [start + best] if 2 * likelihood[best] >= penalty else []
    return steps


def _confirmed(logs: Array, steps: list[int], least: float) -> list[int]:
    """Remove steps that ranks do not confirm: among many outliers, some are next to each other by chance."""
    steps = list(steps)
    while steps:
        edges = [0, *steps, len(logs)]
        strengths = [
            changes.by_rank(logs[start:end], at - start)
            for start, at, end in zip(edges, edges[1:], edges[2:], strict=False)
        ]
        weakest = int(np.argmin(strengths))
        if strengths[weakest] >= least:
            break
        del steps[weakest]
    return steps


def _explained(
    logs: Array, values: Array, units: Array, steps: list[int], effect: float
) -> tuple[Array, list[SeriesChange]]:
    """Return the level of each run [n], and its changes: steps, or a drift if that fits better."""
    edges = [0, *steps, len(logs)]
    fitted = np.concatenate(
        [np.full(end - start, np.median(logs[start:end])) for start, end in pairwise(edges)]
    )
    levels = [float(fitted[start]) for start in edges[:-1]]
    found = []
    index = 1
    while index <= len(steps):
        for past in range(_end_of_direction(levels, index), index, -1):
            start, end = edges[index - 1], edges[past]
            drift = ramp.better(
                values[start:end], units[start:end], [edge - start for edge in edges[index:past]]
            )
            if drift:
                fitted[start:end] = drift.levels(end - start)
                found.append(_drift(drift, start))
                break
            if past > index + 1 and _creeps(levels[index - 1 : past], effect):
                found.append(_creeping(logs, units, edges, index, past))
                break
        else:
            past = index + 1
            found.append(_step(logs, values, units, edges[index - 1 : index + 2]))
        index = past
    return fitted, found


def _end_of_direction(levels: list[float], index: int) -> int:
    """Return the end of the sequence of steps in one direction that starts at `index`."""
    past = index + 1
    while (
        past < len(levels)
        and past - index < _MOST_STEPS
        and (levels[past] - levels[past - 1]) * (levels[index] - levels[index - 1]) > 0
    ):
        past += 1
    return past


def _creeps(levels: list[float], effect: float) -> bool:
    """Tell whether steps smaller than the effect add up to at least the effect."""
    return bool(np.abs(np.diff(levels)).max() < effect <= abs(levels[-1] - levels[0]))


def _drift(found: ramp.Ramp, start: int) -> SeriesChange:
    before, after = math.exp(found.before), math.exp(found.after)
    low, high = math.exp(found.low), math.exp(found.high)
    last = start + found.last
    return SeriesChange("drift", start + found.first, last, last, before, after, after / before, low, high)


def _creeping(logs: Array, units: Array, edges: list[int], index: int, past: int) -> SeriesChange:
    sides = slice(edges[index - 1], edges[index]), slice(edges[past - 1], edges[past])
    last = edges[past - 1]
    return SeriesChange("drift", edges[index] - 1, last, last, *_compared(logs, units, *sides))


def _step(logs: Array, values: Array, units: Array, edges: list[int]) -> SeriesChange:
    start, at, end = edges
    likelihood = changes.places(values[start:end], units[start:end], LEVEL_SHORTEST)
    first, last = changes.plausible(likelihood)
    numbers = _compared(logs, units, slice(start, at), slice(at, end))
    return SeriesChange("step", min(start + first, at), at, max(start + last, at), *numbers)


def _compared(
    logs: Array, units: Array, before: slice, after: slice
) -> tuple[float, float, float, float, float]:
    """Return the median times of two stretches, their ratio, and its 95 % interval."""
    medians = [float(np.median(logs[side])) for side in (before, after)]
    error = _MEDIAN * math.sqrt(
        sum(float(np.mean(units[side] ** 2)) / (side.stop - side.start) for side in (before, after))
    )
    change = medians[1] - medians[0]
    return (
        math.exp(medians[0]),
        math.exp(medians[1]),
        math.exp(change),
        math.exp(change - _OWN * error),
        math.exp(change + _OWN * error),
    )


def _spreads(deviations: Array, stretches: list[slice]) -> list[SeriesChange]:
    found = []
    for before, after in pairwise(stretches):
        whole = deviations[before.start : after.stop]
        place, likelihood = spread.places(whole, after.start - before.start, noise.LEAST)
        first, last = changes.plausible(likelihood)
        spreads = [spread.sd(part, noise.LEAST) for part in (whole[:place], whole[place:])]
        change = math.log(spreads[1] / spreads[0])
        error = _SPREAD * math.sqrt(1 / place + 1 / (len(whole) - place))
        low, high = math.exp(change - _OWN * error), math.exp(change + _OWN * error)
        first, at, last = (before.start + one for one in (first, place, last))
        found.append(
            SeriesChange("spread", first, at, last, spreads[0], spreads[1], math.exp(change), low, high)
        )
    return found
