"""Regrets as a document: the worst of each call, where the fastest way changes, and what a release moved."""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from .. import units
from ..compare.regret.result import Crossover, Point, Regret, Regrets, is_slower, moved
from ..workloads.graphs.catalog import FAMILIES, DatasetName
from ..workloads.operations import OPERATIONS
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
    kept, given = (
        _worst(found.regrets(same_structure=same), f"time of the call / time of the fastest way{title}")
        for same, title in (
            (False, ", if the graph is converted once and kept"),
            (True, " that takes what the call takes, as for a graph that changes in each call"),
        )
    )
    crossings = _crossings(found.crossovers())
    blocks += kept, given, crossings
    if older:
        blocks += _moved(found, older)
    blocks = [block for block in blocks if not isinstance(block, Table) or block.rows]
    more = "" if decided == len(timed) else "; a larger --budget may tell at the others"
    blocks.append(
        Note(
            f"{units.count(len(timed), 'point')}; at {decided} the fastest way is known: the others are "
            f"slower, or differ by less than {effect}{more}"
        )
    )
    if kept.rows:
        blocks.append(
            Note(
                "median: of the call at all points; worst: the point whose interval has the largest lower end"
            )
        )
        blocks.append(Note("interval: 99%, simultaneous for all calls and points; d: mean degree; w: width"))
    if crossings.rows:
        blocks.append(
            Note(
                "at, interval (99%): on the first line; a line has points that differ in degree or width only"
            )
        )
    blocks += map(Note, (*_calls(found, (kept, given)), *_left_out(found.points)))
    return blocks


def _calls(found: Regrets, tables: Iterable[Table]) -> list[str]:
    """Return a line for each call in the tables that says what a user writes."""
    named = {cell for table in tables for row in table.rows for cell in row if isinstance(cell, str)}
    ways = dict.fromkeys(way.name for point in found.points for way in point.ways if way.is_call)
    lines = []
    for name in filter(named.__contains__, ways):
        operation, _, platform = name.rpartition(" on ")
        if (known := OPERATIONS.get(operation)) and platform in known.calls:
            lines.append(f"{name}: {known.calls[platform].text}")
    return lines


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
    family_name = place.dataset.partition(":")[0]
    graph = place.dataset
    if family_name in FAMILIES and FAMILIES[family_name].unit == "nodes":
        name = DatasetName.parse(graph)
        graph = f"{family_name}:{name.scale} d{2 * name.edges:g}"
    return " ".join(filter(None, (graph, width, *types, threads)))


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
            str(len(ones)),
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
        Column("lines", "number"),
        Column("at", "number"),
        Column("interval", "number"),
        Column("first line"),
    )
    return Table("crossovers: where two ways are equally fast, along mean degree or width", columns, cells)


def _moved(found: Regrets, older: Regrets) -> Iterable[Table | Note]:
    """Yield what differs from an older result."""
    pairs = moved(older.crossovers(), found.crossovers())
    cells = [
        (
            new.below,
            new.above,
            SHORT_DIRECTION[new.point.place.direction],
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
        Column("dir"),
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
        f"{units.count(both, 'point')} decided in both results; another way is the fastest at {len(changed)}"
    )


def _other_way(before: Point, now: Point) -> bool:
    return is_slower(before, now.fastest) and is_slower(now, before.fastest)


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
