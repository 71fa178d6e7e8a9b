"""Render the page of a view."""

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import drawing, memory, page, wording
from .causes import BENCHMARKS, Told
from .charts import distribution
from .names import LONGEST
from .numbers import Numbers, notes
from .pictures import Picture, pictures, side_by_side
from .style import PAGE
from .table import grouped
from .verdicts import ORDER, divided, effect, reasons
from .view import BenchmarkView, Breakdown, BreakdownPart, View

_MOST_CHANGED = 100
"""Most rows in the table of changed benchmarks; the table of all benchmarks has the others."""


@dataclass(frozen=True)
class Figure:
    """A chart in a page."""

    picture: Picture
    svg: Any
    """Markup."""
    caption: str


def html(view: View) -> str:
    """Return the page: one file that loads nothing else."""
    rows = wording.ordered(view.rows)
    drawn = any(one.processes for one in rows)
    if drawn:
        drawing.prepare()
    numbers = Numbers(rows)
    moved = _together(wording.moved(view.benchmarks), view.causes)
    weighed = wording.weighed(view.benchmarks)
    thresholds = view.judged and view.judged.thresholds
    return page.render(
        "report.html",
        styles=(*page.STYLES, "report.css"),
        scripts=(*page.SCRIPTS, "report.js"),
        libraries=(drawing.library(),) if drawn else (),
        view=view,
        thresholds=thresholds,
        effect=thresholds and effect(thresholds, (one.fullname for one in view.benchmarks)),
        headline=wording.headline(view),
        counts=_counts(view.benchmarks),
        causes=_causes(view),
        same_code=divided(view.benchmarks)[1],
        rows=rows,
        moved=moved[:_MOST_CHANGED],
        more_moved=max(len(moved) - _MOST_CHANGED, 0),
        weighed=weighed[:_MOST_CHANGED],
        more_weighed=max(len(weighed) - _MOST_CHANGED, 0),
        memory=memory,
        figures=_figures(view),
        remarks=grouped(_remarks(rows)),
        incomplete=[one for one in view.benchmarks if one.error],
        columns=_columns(view),
        platforms=_platforms(view.rows),
        breakdowns=[(found, _lines(found)) for found in view.breakdowns],
        choices=_choices(rows),
        numbers=numbers,
        packed=_packed(
            {
                "texts": numbers.texts,
                "rows": numbers.rows,
                "chart": distribution.chart([], [], [], "UNIT", PAGE) if drawn else None,
            }
        ),
        fragment=fragment,
        wording=wording,
    )


def fragment(benchmark: BenchmarkView) -> str:
    """Return the id of a benchmark's row."""
    return page.fragment(benchmark.fullname)


def _causes(view: View) -> list[tuple[Told, list[BenchmarkView], list[tuple[str, str]]]]:
    """Return each cause with the benchmarks to name, and the commands to show."""
    known = {one.fullname: one for one in view.benchmarks}
    found = []
    for told in view.causes:
        shown = [known[row.fullname] for row in told.cause.rows[:BENCHMARKS]]
        found.append((told, shown, [one for one in told.commands if len(one[1]) <= LONGEST]))
    return found


def _together(moved: Sequence[BenchmarkView], causes: Sequence[Told]) -> list[BenchmarkView]:
    """Order slower benchmarks by their cause, as far as it is known; the others stay behind them."""
    place = {name: number for number, told in enumerate(causes) for name in told.fullnames}
    slower = [one for one in moved if wording.verdict(one) == "slower"]
    others = [one for one in moved if wording.verdict(one) != "slower"]
    return sorted(slower, key=lambda one: place.get(one.fullname, len(causes))) + others


def _packed(content: Any) -> Any:
    """Return content as compressed JSON in base64, which is safe inside an element, as markup."""
    from markupsafe import Markup

    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return Markup(base64.b64encode(zlib.compress(text.encode())).decode())  # noqa: S704 - no markup


def _figures(view: View) -> dict[str, list[Figure]]:
    from markupsafe import Markup

    found: dict[str, list[Figure]] = {}
    for picture in pictures(view):
        if picture.place != "benchmark":  # drawn by the browser when their row is opened
            svg = Markup(drawing.for_page(picture.draw, picture.text))  # noqa: S704 - shapes and text
            found.setdefault(picture.place, []).append(Figure(picture, svg, picture.caption(PAGE)))
    return found


def _counts(benchmarks: Sequence[BenchmarkView]) -> list[tuple[str, int]]:
    words = [wording.verdict(one) for one in benchmarks]
    return [(verdict, words.count(verdict)) for verdict in ORDER if verdict in words]


def _remarks(benchmarks: Sequence[BenchmarkView]) -> list[tuple[str, list[str]]]:
    """Return the notes on each benchmark by label, without those that a table of changed ones shows."""
    found = []
    for one in benchmarks:
        why = reasons(one.judgement) if one.judgement else []
        in_table = one.notes if wording.is_changed(one) else ()
        said = [f"interrupted: {one.error}", *in_table]
        found.append((one.label, [*why, *(note for note in notes(one) if note not in said)]))
    return found


def _columns(view: View) -> list[str]:
    """Return the columns that are not empty."""
    there = {
        "time": any(one.seconds for one in view.rows),
        "spread": any(one.time and one.time.high_seconds for one in view.rows),
        "ratio": any(one.judgement and one.judgement.ratio for one in view.rows),
        "interval": any(one.judgement and one.judgement.low for one in view.rows),
        "verdict": view.judged is not None,
        "memory": any(one.memory and one.memory.changed for one in view.rows),
        "limit": any(one.limit for one in view.rows),
        "peak": any(one.peak_bytes is not None for one in view.rows),
        "operators": any(one.counters for one in view.rows),
    }
    return [name for name, present in there.items() if present]


def _choices(benchmarks: Sequence[BenchmarkView]) -> dict[str, list[str]]:
    """Return the filters that have at least two values."""
    found = {
        "verdict": [word for word in ORDER if any(wording.verdict(one) == word for one in benchmarks)],
        "platform": _values(one.spec.platform for one in benchmarks if one.spec),
        "graph": _values(one.spec.dataset for one in benchmarks if one.spec),
        "width": _values(str(one.spec.hidden) for one in benchmarks if one.spec),
        "type": _values(one.spec.dtype for one in benchmarks if one.spec),
    }
    return {name: values for name, values in found.items() if len(values) > 1}


def _values(values: Any) -> list[str]:
    return list(dict.fromkeys(values))


def _platforms(benchmarks: Sequence[BenchmarkView]) -> list[tuple[str, list[str], list[Any]]]:
    """Return title, platforms and rows of each table; a row has one benchmark per platform."""
    found = []
    for title, rows in side_by_side(benchmarks).items():
        names = _values(one.spec.platform for ones in rows.values() for one in ones if one.spec)
        lines = [
            (
                what,
                [
                    next((one for one in ones if one.spec and one.spec.platform == name), None)
                    for name in names
                ],
            )
            for what, ones in rows.items()
        ]
        found.append((title, names, lines))
    return found


def _lines(found: Breakdown) -> list[tuple[str, int, list[BreakdownPart | None]]]:
    """Return the rows of a breakdown's table: name, depth, and one part per bar."""
    keys = list(dict.fromkeys((part.name, part.depth) for bar in found.bars for part in bar.parts))
    return [
        (
            name,
            depth,
            [
                _sum([one for one in bar.parts if (one.name, one.depth) == (name, depth)])
                for bar in found.bars
            ],
        )
        for name, depth in keys
    ]


def _sum(parts: Sequence[BreakdownPart]) -> BreakdownPart | None:
    if not parts:
        return None
    first = parts[0]
    return BreakdownPart(
        first.name, sum(one.seconds for one in parts), sum(one.self_seconds for one in parts), first.depth
    )
