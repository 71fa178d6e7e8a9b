"""Render the page of a view."""

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from markupsafe import Markup

from ..ground import units
from . import drawing, page, wording
from .causes import BENCHMARKS, Told
from .document import Column, Shown, Table, filled
from .measured import half_width
from .names import LONGEST, grouped
from .numbers import Numbers, remarks
from .pictures import Picture
from .style import PAGE
from .verdicts import COLUMNS
from .view import BenchmarkView, View, ordered
from .wording import CHANGED, ORDER, change, effects

_MOST_CHANGED = 100
"""Most rows in the table of changed benchmarks; the table of all benchmarks has the others."""


def html(view: View, pictures: Iterable[Picture]) -> str:
    """Return the page of a view and its charts: one file that loads nothing else."""
    rows = ordered(view.rows)
    numbers = Numbers(rows)
    thresholds = view.judged and view.judged.thresholds
    return page.render(
        "report.html",
        own="report",
        view=view,
        thresholds=thresholds,
        effect=thresholds and effects(thresholds, (one.fullname for one in view.benchmarks)),
        headline=view.headline,
        counts=_counts(view.benchmarks),
        causes=_causes(view),
        same_code=view.same_code,
        rows=rows,
        most=_MOST_CHANGED,
        moved=_together(view.moved, view.judged.causes if view.judged else ()),
        moved_columns=_moved_columns(view),
        weighed=view.weighed,
        weighed_columns=_WEIGHED,
        figures=_figures(pictures),
        draw=lambda one: drawing.for_page(one.draw, one.text),
        caption=lambda one: one.caption(PAGE),
        remarks=grouped(remarks(rows)),
        incomplete=[one for one in view.benchmarks if one.error],
        columns=filled(_COLUMNS, view.rows),
        platforms=_platforms(view),
        choices=_choices(rows),
        numbers=numbers,
        packed=_packed(numbers.rows),
        wording=wording,
    )


def _spread(one: BenchmarkView) -> Shown | None:
    found = one.time
    return half_width(found.seconds, found.low_seconds, found.high_seconds) if found else None


def _peak(one: BenchmarkView) -> int | None:
    return one.counters.memory.get("peak_bytes") if one.counters else None


def _of_row(column: Column, one: BenchmarkView) -> Any:
    return one.row and column.of(one.row)


_COLUMNS = (
    Column("time", "time", lambda one: one.seconds),
    Column("±", "fraction", _spread, aside=True),
    *(replace(one, of=partial(_of_row, one)) for one in COLUMNS[1:] if one.title != "MDE"),
    Column("limit", "fraction", lambda one: one.limit and one.limit.fraction, aside=True),
    Column("peak", "size", _peak, aside=True),
    Column("operators", "count", lambda one: one.counters and one.counters.operators, aside=True),
)
_WHAT_ELSE = "counters are equal, or were not recorded"


def _weighed_too(one: BenchmarkView) -> str:
    """Return why more memory is excused, and what else changed, unless the table of times has it."""
    row = one.row
    excused = [row.memory.excused] if row and row.memory and row.memory.excused else []
    return "; ".join((*excused, "see above" if one.verdict in CHANGED else _what_else(one)))


def _interval(one: BenchmarkView) -> str:
    assert one.row
    return units.interval(one.row.judgement.low, one.row.judgement.high)


def _what_else(one: BenchmarkView) -> str:
    return "; ".join(one.row.notes if one.row else ()) or _WHAT_ELSE


_WEIGHED = (
    Column("change", "memory", lambda one: one.row.memory),
    Column(
        "peak",
        "number",
        lambda one: " → ".join(map(units.size, (one.row.memory.base_bytes, one.row.memory.head_bytes))),
    ),
    Column("what else changed", "text", _weighed_too),
)
"""The columns of the table of changed memory."""


def _moved_columns(view: View) -> list[Column]:
    """Return the columns of the table of changed times."""
    judged = view.judged
    level = f"{units.level(judged.thresholds.family_level)} " if judged and judged.thresholds else ""

    def time(one: BenchmarkView) -> str:
        now = one.seconds
        return f"{units.seconds(now / one.ratio)} → {units.seconds(now)}" if now else ""

    return [
        Column("change", "shown", lambda one: Shown(change(one.row), style=one.verdict)),
        Column(f"{level}interval", "text", _interval),
        Column("time", "number", time),
        Column("what else changed", "text", _what_else),
    ]


def _causes(view: View) -> list[tuple[Told, list[BenchmarkView], list[tuple[str, str]]]]:
    """Return each cause with the benchmarks to name, and the commands to show."""
    known = {one.fullname: one for one in view.benchmarks}
    found = []
    for told in view.judged.causes if view.judged else ():
        shown = [known[row.fullname] for row in told.cause.rows[:BENCHMARKS]]
        found.append((told, shown, [one for one in told.commands if len(one[1]) <= LONGEST]))
    return found


def _together(moved: Sequence[BenchmarkView], causes: Sequence[Told]) -> list[BenchmarkView]:
    """Order slower benchmarks by their cause, as far as it is known; the others stay behind them."""
    place = {name: number for number, told in enumerate(causes) for name in told.fullnames}
    slower = [one for one in moved if one.verdict == "slower"]
    others = [one for one in moved if one.verdict != "slower"]
    return sorted(slower, key=lambda one: place.get(one.fullname, len(causes))) + others


def _packed(content: Any) -> Markup:
    """Return content as compressed JSON in base64, which is safe inside an element, as markup."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return Markup(base64.b64encode(zlib.compress(text.encode())).decode())  # noqa: S704 - no markup


def _figures(pictures: Iterable[Picture]) -> dict[str, list[Picture]]:
    """Return the charts by place; those of a benchmark are drawn by the browser when its row is opened."""
    found: dict[str, list[Picture]] = {}
    for picture in pictures:
        found.setdefault(picture.place, []).append(picture)
    return found


def _counts(benchmarks: Sequence[BenchmarkView]) -> list[tuple[str, int]]:
    counts = Counter(one.verdict for one in benchmarks if one.row and not one.row.judgement.same_code)
    return [(verdict, counts[verdict]) for verdict in ORDER if verdict in counts]


def _choices(benchmarks: Sequence[BenchmarkView]) -> dict[str, list[str]]:
    """Return the filters that have at least two values."""
    found = {
        "verdict": [word for word in ORDER if any(one.verdict == word for one in benchmarks)],
    }
    for labels in (one.labels for one in benchmarks if one.labels):
        for title, value in labels.filters.items():
            found.setdefault(title, [])
            if value not in found[title]:
                found[title].append(value)
    return {name: values for name, values in found.items() if len(values) > 1}


def _values(values: Any) -> list[str]:
    return list(dict.fromkeys(values))


def _platforms(view: View) -> list[Table]:
    """Return a table for each graph and types; a row is an operation, with a time for each platform."""
    found = []
    for title, rows in view.side_by_side.items():
        names = _values(one.labels.platform for ones in rows.values() for one in ones if one.labels)
        times = {
            what: {one.labels.platform: one.seconds for one in ones if one.labels}
            for what, ones in rows.items()
        }
        columns = [Column("operation"), *(Column(name, "time") for name in names)]
        found.append(Table(title, columns, [(what, *map(one.get, names)) for what, one in times.items()]))
    return found
