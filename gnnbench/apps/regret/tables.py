"""Makes the document of a result: tables of each call's worst regret, and of crossovers."""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from ...engine.ground import units
from ...engine.show.document import Column, Document, Table
from ...engine.show.lines import Note
from ...suite.graphs.catalog import FAMILIES, DatasetName
from ...suite.operations import OPERATIONS
from ...suite.spec import SHORT_DIRECTION
from .families import family_of
from .result import Crossover, Point, Regret, Regrets

_MOST_ROWS = 10
_AXES = {"degree": "mean degree", "hidden": "width"}


def document(regrets: Regrets) -> Document:
    """Return the tables and notes of a result."""
    effect = units.fraction(regrets.effect)
    timed = [point for point in regrets.points if point.fastest]
    decided = sum(point.is_decided for point in timed)
    all_ways, same_structure = (
        _worst(regrets.regrets(same_structure=same), f"time of the call / time of the fastest way{which}")
        for same, which in (
            (False, ", if the graph stays the same"),
            (True, " that takes the same input structure, if the graph changes in each call"),
        )
    )
    crossovers = _crossovers(regrets.crossovers())
    hint = "" if decided == len(timed) else "; a larger --budget may decide the others"
    summary = f"{units.count(len(timed), 'point')}, {decided} decided: there all other ways are slower than"
    notes = [f"{summary} the fastest, or differ from it by less than {effect}{hint}"]
    if all_ways.rows:
        notes += [
            "median: over all points of the call; worst: at the point with the largest lower bound",
            "interval: 99%, simultaneous for all calls and points; d: mean degree; w: feature width",
        ]
    if crossovers.rows:
        notes.append(
            "line: points that vary only in degree or in width; at, interval (99%): on the first line"
        )
    notes += [*_calls(regrets, (all_ways, same_structure)), *_left_out(regrets.points)]
    tables = (table for table in (all_ways, same_structure, crossovers) if table.rows)
    return [*tables, *map(Note, notes)]


def _calls(regrets: Regrets, tables: Iterable[Table]) -> list[str]:
    """Return a line for each call in the tables: its name and its code."""
    cells = {cell for table in tables for row in table.rows for cell in row if isinstance(cell, str)}
    ways = dict.fromkeys(way.name for point in regrets.points for way in point.ways if way.is_call)
    lines = []
    for name in filter(cells.__contains__, ways):
        operation, _, platform = name.rpartition(" on ")
        if (definition := OPERATIONS.get(operation)) and platform in definition.calls:
            lines.append(f"{name}: {definition.calls[platform].text}")
    return lines


def _direction(point: Point) -> str:
    return SHORT_DIRECTION[point.place.direction]


def _range(crossover: Crossover) -> str:
    return f"{crossover.low:.3g}-{crossover.high:.3g}"


_REGRETS = (
    Column("call", of=lambda rows: rows[0].way.name),
    Column("dir", of=lambda rows: _direction(rows[0].point)),
    Column(
        "median",
        "number",
        lambda rows: units.ratio(statistics.median(row.judgement.ratio or 1.0 for row in rows)),
    ),
    Column("worst", "number", lambda rows: units.ratio(rows[0].judgement.ratio)),
    Column("interval", "number", lambda rows: units.interval(rows[0].judgement.low, rows[0].judgement.high)),
    Column("at", of=lambda rows: _where(rows[0].point)),
    Column("fastest there", of=lambda rows: rows[0].fastest),
)
"""Columns of the tables of regrets; a row has the regrets of one call, the worst first."""
_CROSSOVERS = (
    Column("fastest below", of=lambda rows: rows[-1].below),
    Column("fastest above", of=lambda rows: rows[-1].above),
    Column("dir", of=lambda rows: _direction(rows[-1].point)),
    Column("along", of=lambda rows: _AXES[rows[-1].axis]),
    Column("lines", "count", len),
    Column("at", "number", lambda rows: f"{rows[0].at:.3g}"),
    Column("interval", "number", lambda rows: _range(rows[0])),
    Column("first line", of=lambda rows: _where(rows[0].point)),
)
"""Columns of the table of crossovers; a row has the crossovers of the same two ways."""


def _worst(rows: Sequence[Regret], title: str) -> Table:
    """Return the table of largest regrets: a row for each call and direction that is not always fastest."""
    calls: dict[tuple[str, str], list[Regret]] = {}
    for row in rows:  # the worst first
        calls.setdefault((row.way.name, row.point.place.direction), []).append(row)
    groups = [regrets for regrets in calls.values() if regrets[0].judgement.low is not None]
    return Table.of(title, _REGRETS, groups[:_MOST_ROWS])


def _where(point: Point) -> str:
    """Return a point's graph, width, and any types and threads that are not default: `rmat:10 d32 w128`."""
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
    """Parse the name of a random graph. Returns None for other graphs."""
    family = FAMILIES.get(dataset.partition(":")[0])
    return DatasetName.parse(dataset) if family and family.unit == "nodes" else None


def _crossovers(crossovers: Sequence[Crossover]) -> Table:
    """Return the table of crossovers, with a row for each pair of ways."""
    pairs: dict[tuple[str, str, str, str], list[Crossover]] = {}
    for row in crossovers:
        pairs.setdefault((row.axis, row.point.place.direction, row.below, row.above), []).append(row)
    common = sorted(pairs.values(), key=lambda group: -len(group))[:_MOST_ROWS]
    title = "crossovers: where two ways are equally fast, along mean degree or width"
    return Table.of(title, _CROSSOVERS, common)


def _left_out(points: Iterable[Point]) -> list[str]:
    """Return a line for each reason why ways were left out, with the ways and the number of points."""
    counts = Counter(item for point in points for item in point.left_out.items())
    ways: dict[tuple[str, int], list[str]] = {}
    for (name, reason), count in counts.items():
        ways.setdefault((reason, count), []).append(name)
    return [
        f"not timed at {units.count(count, 'point')}: {', '.join(names)} ({reason})"
        for (reason, count), names in ways.items()
    ]
