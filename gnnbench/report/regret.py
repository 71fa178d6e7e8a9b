"""Regrets as a document: the worst of each call, where the fastest way changes, and what a release moved."""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from .. import units
from ..compare.regret.result import Crossover, Point, Regret, Regrets, moved
from ..workloads.paths import family_of
from .document import Column, Document, Heading, Note, Table
from .names import SHORT_DIRECTION

_MOST_ROWS = 10
_AXES = {"degree": "mean degree", "hidden": "width"}


def document(found: Regrets, older: Regrets | None = None) -> Document:
    """Return the tables of a result.

    Args:
        found: the result.
        older: an earlier one, to say what moved.
    """
    effect = units.fraction(found.effect)
    timed = [point for point in found.points if point.fastest]
    decided = sum(point.is_decided for point in timed)
    blocks: list[Table | Heading | Note] = []
    for same, title in ((False, "of all ways"), (True, "of the ways that take the same structure")):
        rows = found.regrets(same_structure=same)
        blocks.append(_worst(rows, f"regret: time of the call / time of the fastest {title}"))
    blocks.append(_crossings(found.crossovers()))
    if older:
        blocks += _moved(found, older)
    blocks = [block for block in blocks if not isinstance(block, Table) or block.rows]
    blocks += [
        Note(
            f"{units.count(len(timed), 'point')}; at {decided} the fastest way is known: the others are "
            f"slower, or differ by less than {effect}"
        ),
        Note(
            "each row: the points of a call; median: of its regrets; worst: the point with the largest lower "
            "bound; interval: 99%, simultaneous for all calls and points, of other blocks than those that "
            "chose the fastest way"
        ),
        Note("mean degree and width where two ways are equally fast, with 95% intervals"),
        *map(Note, _left_out(found.points)),
    ]
    return blocks


def _worst(rows: Sequence[Regret], title: str) -> Table:
    """Return the table of the calls with the largest regrets, one row for each call and direction."""
    calls: dict[tuple[str, str], list[Regret]] = {}
    for row in rows:  # the worst first
        calls.setdefault((row.way.name, row.point.place.direction), []).append(row)
    cells = []
    for (name, direction), ones in list(calls.items())[:_MOST_ROWS]:
        worst = ones[0].judgement
        if worst.low is None:  # it is the fastest everywhere
            break
        regrets = [one.judgement.ratio or 1.0 for one in ones]
        cells.append(
            (
                name,
                SHORT_DIRECTION[direction],
                units.ratio(statistics.median(regrets)),
                units.ratio(worst.ratio),
                units.interval(worst.low, worst.high),
                _where(ones[0].point),
                ones[0].fastest,
            )
        )
    columns = (
        Column("call"),
        Column("dir"),
        Column("median", "number"),
        Column("worst", "number"),
        Column("interval", "number"),
        Column("at"),
        Column("fastest there"),
    )
    return Table(title, columns, cells)


def _where(point: Point) -> str:
    place = point.place
    family = family_of(place.operation)
    width = f"w{place.hidden}" if family is None or family.has_features else ""
    types = [name for name in (place.dtype, place.index_dtype) if name not in ("float32", "int64")]
    threads = "" if place.threads == 1 else units.count(place.threads, "thread")
    return " ".join(filter(None, (place.dataset, width, *types, threads)))


def _crossings(crossovers: Sequence[Crossover]) -> Table:
    """Return the table of crossovers, those of one pair of ways together."""
    pairs: dict[tuple[str, str, str, str], list[Crossover]] = {}
    for one in crossovers:
        pairs.setdefault((one.axis, one.point.place.direction, one.below, one.above), []).append(one)
    common = sorted(pairs.items(), key=lambda pair: -len(pair[1]))[:_MOST_ROWS]
    cells = [
        (
            below,
            above,
            SHORT_DIRECTION[direction],
            _AXES[axis],
            units.count(len(ones), "line"),
            f"{ones[0].at:.3g}",
            f"{ones[0].low:.3g}-{ones[0].high:.3g}",
            _where(ones[0].point),
        )
        for (axis, direction, below, above), ones in common
    ]
    columns = (
        Column("fastest below"),
        Column("fastest above"),
        Column("dir"),
        Column("along"),
        Column("on", "number"),
        Column("at", "number"),
        Column("interval", "number"),
        Column("first"),
    )
    return Table("crossovers: the fastest way changes", columns, cells)


def _moved(found: Regrets, older: Regrets) -> Iterable[Table | Note]:
    """Yield what differs from an older result."""
    pairs = moved(older.crossovers(), found.crossovers())
    cells = [
        (
            new.below,
            new.above,
            _AXES[new.axis],
            f"{old.low:.3g}-{old.high:.3g}",
            f"{new.low:.3g}-{new.high:.3g}",
            _where(new.point),
        )
        for old, new in pairs
    ]
    columns = (
        Column("fastest below"),
        Column("fastest above"),
        Column("along"),
        Column("before", "number"),
        Column("now", "number"),
        Column("at"),
    )
    yield Table("crossovers that moved: the intervals have no value in common", columns, cells)
    before = {point.place: point for point in older.points if point.is_decided}
    changed = [
        (SHORT_DIRECTION[point.place.direction], _where(point), before[point.place].fastest, point.fastest)
        for point in found.points
        if point.is_decided and point.place in before and _other_way(before[point.place], point)
    ]
    titles = "dir", "at", "fastest before", "fastest now"
    yield Table("points at which another way is the fastest", [*map(Column, titles)], changed[:_MOST_ROWS])
    both = sum(point.place in before for point in found.points if point.is_decided)
    yield Note(
        f"{units.count(both, 'point')} decided in both results; {len(changed)} have another fastest way"
    )


def _other_way(before: Point, now: Point) -> bool:
    return (
        now.fastest not in (before.fastest, *before.equally_fast) and before.fastest not in now.equally_fast
    )


def _left_out(points: Iterable[Point]) -> list[str]:
    """Return a line for each reason why ways are missing, with these ways and at how many points."""
    counts = Counter(one for point in points for one in point.left_out.items())
    ways: dict[tuple[str, int], list[str]] = {}
    for (name, reason), count in counts.items():
        ways.setdefault((reason, count), []).append(name)
    return [
        f"without {', '.join(names)}: {reason} ({units.count(count, 'point')})"
        for (reason, count), names in ways.items()
    ]
