"""The saved result: the times of all ways at each point of the grid; and regrets and crossovers in it.

A way is an implementation of an operation. A regret is the time of a library's call divided by that of the
fastest way. A crossover is where one way overtakes another between two neighbouring points.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Annotated, Any, Self

from msgspec import Meta
from scipy import special

from ...engine.ground import codec, json_io
from ...engine.ground.codec import Count, Positive, PositiveCount
from ...engine.ground.environment import Environment
from ...engine.judge.verdict import Judgement, Thresholds, judge_ratio
from .race import BETWEEN_PROCESSES, Ratio

VERSION = 1
_TAIL = 0.005
"""Probability of one tail of a 99 % interval."""


@dataclass(frozen=True)
class Way:
    """A way at a point: an implementation of an operation, with its times."""

    name: str
    takes: str
    """The kind of structure that the way takes: edge list, CSR, index, ..."""
    is_call: bool
    """Whether the way is a library's call, which users write."""
    seconds: Positive
    """Seconds per call: the median of the blocks; for ways too slow for the race, the least of some calls."""
    in_race: Ratio | None = None
    """Ratio to the fastest way, in the blocks that chose the fastest."""
    regret: Ratio | None = None
    """Ratio of a library's call to the fastest way, in later blocks. None for other ways."""
    regret_same_structure: Ratio | None = None
    """As `regret`, but to the fastest way that takes the same kind of structure."""
    fastest_same_structure: str | None = None


@dataclass(frozen=True)
class Place:
    """The coordinates of a point in the grid."""

    operation: str
    """The first operation of the family."""
    direction: Annotated[str, Meta(pattern="^forward(_backward)?$")]
    dataset: str
    hidden: PositiveCount
    dtype: str
    index_dtype: str
    threads: PositiveCount
    device: str


@dataclass(frozen=True)
class Point:
    """All ways at a place."""

    place: Place
    nodes: Count
    entries: Count
    """Entries of the adjacency matrix: twice the number of edges."""
    ways: tuple[Way, ...] = ()
    fastest: str | None = None
    is_decided: bool = False
    """Whether each other way is known to be slower than the fastest, or equally fast."""
    equally_fast: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    """Why ways were not timed, by name."""

    def coordinate(self, axis: str) -> float:
        """Return the coordinate on an axis: the mean degree (`degree`) or the width (`hidden`)."""
        return self.entries / max(self.nodes, 1) if axis == "degree" else float(self.place.hidden)


@dataclass(frozen=True)
class Regret:
    """The time of a library's call at a point, divided by that of the fastest way."""

    point: Point
    way: Way
    fastest: str
    """The fastest of all ways, or of the ways that take the same kind of structure as the call."""
    judgement: Judgement


@dataclass(frozen=True)
class Crossover:
    """One way is the fastest at a point, another at its neighbour in the grid."""

    point: Point
    axis: str
    """`degree` or `hidden`."""
    below: str
    """The fastest way at smaller values."""
    above: str
    """The fastest way at larger values."""
    at: Positive
    """Where both ways are equally fast, if the log ratio is linear in the logarithm of the value."""
    low: Positive
    """Lower bound of the 99 % interval, which lies between both points; `high` is the upper bound."""
    high: Positive


@dataclass(frozen=True)
class Regrets:
    """A result of `gnnbench regret`, as it is saved."""

    points: tuple[Point, ...]
    effect: codec.Level
    environment: Environment | None = None
    version: int = VERSION

    @classmethod
    def read(cls, path: Path) -> Self:
        remedy = "make it again with gnnbench regret"
        content = json_io.read(path, remedy)
        return codec.read(path, content, cls, VERSION, remedy)

    def regrets(self, *, same_structure: bool) -> list[Regret]:
        """Return the regret of each call at each point, sorted by lower bound, largest first."""
        attribute = "regret_same_structure" if same_structure else "regret"
        calls = [
            (point, way, fastest, getattr(way, attribute))
            for point in self.points
            for way in point.ways
            if way.is_call and (fastest := way.fastest_same_structure if same_structure else point.fastest)
        ]
        family = sum(way.name != fastest for _, way, fastest, _ in calls)
        rows = []
        for point, way, fastest, ratio in calls:
            if way.name == fastest:
                judgement = Judgement("same", "the fastest way", 1.0)
            elif ratio is None:
                continue
            else:
                freedom = ratio.degrees_of_freedom
                thresholds = Thresholds(self.effect)
                judgement = judge_ratio(ratio.log, ratio.error, freedom, thresholds, family)
            rows.append(Regret(point, way, fastest, judgement))
        return sorted(rows, key=lambda row: -(row.judgement.low or 0.0))

    def crossovers(self) -> list[Crossover]:
        """Return the crossovers between neighbouring points, along degree and along width."""
        return [
            crossover
            for axis in ("degree", "hidden")
            for line in self._lines(axis)
            for point, neighbour in pairwise(line)
            if (crossover := _crossover(point, neighbour, axis))
        ]

    def _lines(self, axis: str) -> Iterator[list[Point]]:
        """Yield lists of points that differ only along the axis, sorted along it."""
        lines: dict[Any, list[Point]] = {}
        for point in self.points:
            if point.fastest is not None and point.entries:
                lines.setdefault(_off_axis(point, axis), []).append(point)
        for line in lines.values():
            yield sorted(line, key=lambda point: point.coordinate(axis))


def _off_axis(point: Point, axis: str) -> Any:
    """Return a key that is equal for points that differ only along the axis."""
    if axis == "hidden":
        return replace(point.place, hidden=1)
    return replace(point.place, dataset=point.place.dataset.partition("@")[0]), point.nodes


def _crossover(point: Point, neighbour: Point, axis: str) -> Crossover | None:
    """Return the crossover between two points. Returns None if they may have the same fastest way."""
    if not (point.is_decided and neighbour.is_decided):
        return None
    below, above = point.fastest, neighbour.fastest
    if below in (above, *neighbour.equally_fast) or above in (below, *point.equally_fast):
        return None
    above_here = _in_race(point, above)
    below_there = _in_race(neighbour, below)
    if above_here is None or below_there is None:
        return None
    start, end = point.coordinate(axis), neighbour.coordinate(axis)

    def at(*signs: int) -> float:
        """Return where both ways are equally fast. Signs: 1 or -1 for a log ratio's bound, 0 for itself."""
        logs = [
            max(ratio.log + sign * _width(ratio), 1e-9)
            for ratio, sign in zip((above_here, below_there), signs, strict=True)
        ]
        return start * (end / start) ** (logs[0] / sum(logs))

    bounds = [at(*signs) for signs in product((-1, 1), repeat=2)]
    assert below is not None
    assert above is not None
    return Crossover(point, axis, below, above, at(0, 0), min(bounds), max(bounds))


def _width(ratio: Ratio) -> float:
    """Return the half-width of a log ratio's 99 % interval, including the variation between processes."""
    total = replace(ratio, error=math.hypot(ratio.error, BETWEEN_PROCESSES))
    return -total.error * float(special.stdtrit(total.degrees_of_freedom, _TAIL))


def _in_race(point: Point, name: str | None) -> Ratio | None:
    """Return a way's ratio to the fastest, in the blocks that chose the fastest. Returns None if unknown."""
    return next((way.in_race for way in point.ways if way.name == name), None)
