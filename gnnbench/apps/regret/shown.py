"""Regrets as a document: the worst of each call, where the fastest way changes, and what a release moved."""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from ...engine.ground import units
from ...engine.show.document import Column, Document, Table
from ...engine.show.lines import Note
from ...suite.graphs.catalog import FAMILIES, DatasetName
from ...suite.operations import OPERATIONS
from ...suite.spec import SHORT_DIRECTION
from .paths import family_of
from .result import Crossover, Point, Regret, Regrets, is_slower, moved

_MOST_ROWS = 10
_AXES = {"degree": "mean degree", "hidden": "width"}


def document(found: Regrets, older: Regrets | None = None) -> Document:
    """Return the tables of a result."""
    effect = units.fraction(found.effect)
    timed = [point for point in found.points if point.fastest]
    decided = sum(point.is_decided for point in timed)
    kept, given = (
        _worst(found.regrets(same_structure=same), f"time of the call / time of the fastest way{title}")
        for same, title in (
            (False, ", if the graph is converted once and kept"),
            (True, " that takes what the call takes, as for a graph that changes in each call"),
        )
    )
    crossings = _crossings(found.crossovers())
    blocks = [kept, given, crossings, *(_moved(found, older) if older else ())]
    more = "" if decided == len(timed) else "; a larger --budget may tell at the others"
    known = f"{units.count(len(timed), 'point')}; at {decided} the fastest way is known"
    notes = [f"{known}: the others are slower, or differ by less than {effect}{more}"]
    if kept.rows:
        notes += [
            "median: of the call at all points; worst: the point whose interval has the largest lower end",
            "interval: 99%, simultaneous for all calls and points; d: mean degree; w: width",
        ]
    if crossings.rows:
        notes.append(
            "at, interval (99%): on the first line; a line has points that differ in degree or width only"
        )
    notes += [*_calls(found, (kept, given)), *_left_out(found.points)]
    return [*(one for one in blocks if not isinstance(one, Table) or one.rows), *map(Note, notes)]


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


def _direction(point: Point) -> str:
    return SHORT_DIRECTION[point.place.direction]


def _range(one: Crossover) -> str:
    return f"{one.low:.3g}-{one.high:.3g}"


_WORST = (
    Column("call", of=lambda ones: ones[0].way.name),
    Column("dir", of=lambda ones: _direction(ones[0].point)),
    Column(
        "median",
        "number",
        lambda ones: units.ratio(statistics.median(one.judgement.ratio or 1.0 for one in ones)),
    ),
    Column("worst", "number", lambda ones: units.ratio(ones[0].judgement.ratio)),
    Column("interval", "number", lambda ones: units.interval(ones[0].judgement.low, ones[0].judgement.high)),
    Column("at", of=lambda ones: _where(ones[0].point)),
    Column("fastest there", of=lambda ones: ones[0].fastest),
)
"""Of the regrets of one call, the worst first."""
_WAYS = (
    Column("fastest below", of=lambda ones: ones[-1].below),
    Column("fastest above", of=lambda ones: ones[-1].above),
    Column("dir", of=lambda ones: _direction(ones[-1].point)),
    Column("along", of=lambda ones: _AXES[ones[-1].axis]),
)
_CROSSINGS = (
    *_WAYS,
    Column("lines", "count", len),
    Column("at", "number", lambda ones: f"{ones[0].at:.3g}"),
    Column("interval", "number", lambda ones: _range(ones[0])),
    Column("first line", of=lambda ones: _where(ones[0].point)),
)
"""Of the crossovers of the same two ways."""
_MOVED = (
    *_WAYS,
    Column("before", "number", lambda pair: _range(pair[0])),
    Column("now", "number", lambda pair: _range(pair[1])),
    Column("at", of=lambda pair: _where(pair[1].point)),
)
"""Of a crossover in the older result, and in this one."""
_CHANGED = (
    Column("dir", of=lambda pair: _direction(pair[1])),
    Column("at", of=lambda pair: _where(pair[1])),
    Column("fastest before", of=lambda pair: pair[0].fastest),
    Column("fastest now", of=lambda pair: pair[1].fastest),
)
"""Of a point in the older result, and in this one."""


def _worst(rows: Sequence[Regret], title: str) -> Table:
    """Return the largest regrets: a row for each call and direction, unless it is the fastest everywhere."""
    calls: dict[tuple[str, str], list[Regret]] = {}
    for row in rows:  # the worst first
        calls.setdefault((row.way.name, row.point.place.direction), []).append(row)
    found = [ones for ones in calls.values() if ones[0].judgement.low is not None]
    return Table.of(title, _WORST, found[:_MOST_ROWS])


def _where(point: Point) -> str:
    place = point.place
    family = family_of(place.operation)
    width = f"w{place.hidden}" if family is None or family.has_features else ""
    types = [name for name in (place.dtype, place.index_dtype) if name not in ("float32", "int64")]
    threads = "" if place.threads == 1 else units.count(place.threads, "thread")
    graph = place.dataset
    if name := random_graph(graph):
        graph = f"{name.dataset.family}:{name.scale} d{2 * name.edges:g}"
    return " ".join(filter(None, (graph, width, *types, threads)))


def random_graph(dataset: str) -> DatasetName | None:
    """Return the name of a random graph; None for any other."""
    family = FAMILIES.get(dataset.partition(":")[0])
    return DatasetName.parse(dataset) if family and family.unit == "nodes" else None


def _crossings(crossovers: Sequence[Crossover]) -> Table:
    """Return the table of crossovers, those of one pair of ways together."""
    pairs: dict[tuple[str, str, str, str], list[Crossover]] = {}
    for one in crossovers:
        pairs.setdefault((one.axis, one.point.place.direction, one.below, one.above), []).append(one)
    common = sorted(pairs.values(), key=lambda ones: -len(ones))[:_MOST_ROWS]
    title = "crossovers: where two ways are equally fast, along mean degree or width"
    return Table.of(title, _CROSSINGS, common)


def _moved(found: Regrets, older: Regrets) -> Iterable[Table | Note]:
    """Yield what differs from an older result."""
    pairs = moved(older.crossovers(), found.crossovers())
    yield Table.of("crossovers that moved: the intervals have no value in common", _MOVED, pairs)
    before = {point.place: point for point in older.points if point.is_decided}
    both = [(before[one.place], one) for one in found.points if one.is_decided and one.place in before]
    changed = [(a, b) for a, b in both if is_slower(a, b.fastest) and is_slower(b, a.fastest)]
    yield Table.of("points at which another way is the fastest", _CHANGED, changed[:_MOST_ROWS])
    count = units.count(len(both), "point")
    yield Note(f"{count} decided in both results; another way is the fastest at {len(changed)}")


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
