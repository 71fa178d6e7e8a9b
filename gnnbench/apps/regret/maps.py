"""Draws a map of each library call: over mean degree and width, colours show the fastest implementation."""

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

import altair as alt

from ...engine.ground import units
from ...engine.show import slides
from ...engine.show.charts import Row, Spec, Style, config, rows_of
from ...engine.show.pictures import Picture
from ...engine.show.view import environment_facts
from ...suite.graphs.catalog import DatasetName
from .result import Regret, Regrets
from .tables import random_graph

_NOTE = "Each cell: the fastest way (?: not certain), and the call's time divided by the fastest way's."
_LONGEST_NAME = 150
COLOURS = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00", "#0072b2", "#999999")
"""Distinct for colour-blind readers (Okabe and Ito, Color Universal Design, 2008)."""
LETTERS = "ABCDEFGH"
_FULL = 4.0
"""Smallest regret that is drawn in full colour."""
_WHOLE = 9.95
"""Smallest regret that is rounded to a whole number."""
_PALE, _STRONG = 0.25, 0.9
"""Opacity at a regret of 1, and at a regret of _FULL or more."""


def write(regrets: Regrets, folder: Path) -> list[Path]:
    """Write a map of each call as SVG and PNG; return the paths."""
    facts = environment_facts(regrets.environment)
    foot = slides.footer(fact for fact in facts if fact[0] != "threads")  # the note of each map names them
    return [file for name, picture in pictures(regrets) for file in slides.save(picture, foot, folder / name)]


def pictures(result: Regrets) -> Iterator[tuple[str, Picture]]:
    """Yield file name and map of each call on random graphs, by direction, size, types and threads."""
    maps: dict[tuple[str, ...], list[Regret]] = {}
    for row in result.regrets(same_structure=False):
        place = row.point.place
        if graph := random_graph(place.dataset):
            more = place.dtype, place.index_dtype, units.count(place.threads, "thread"), place.device
            direction = place.direction.replace("_", " and ")
            maps.setdefault((row.way.name, direction, f"2**{graph.scale} nodes", *more), []).append(row)
    is_named = [True, True, *[len(set(values)) > 1 for values in zip(*maps, strict=True)][2:]]
    places = [point.place for point in result.points]
    for key, rows in maps.items():
        ways = [way for way, _ in Counter(row.fastest for row in rows).most_common()]
        call = ", ".join(compress(key, is_named))
        regrets = [row.judgement.ratio or 1.0 for row in rows]
        median = units.ratio(statistics.median(regrets))
        title = f"{call}: {median} the fastest way's time (median of the points)"
        if (low := rows[0].judgement.low) is not None:  # the worst point comes first
            title += f", and at least {units.ratio(low)} at the worst point"
        cells = list(map(_cell, sorted(rows, key=lambda row: places.index(row.point.place))))
        draw = partial(chart, cells, ways)
        file_name = re.sub(r"[^a-z0-9]+", "-", call.lower())[:_LONGEST_NAME]
        note = f"{_NOTE} {', '.join(key[3:])}."
        yield file_name, Picture(title, note, f"{title}. {note}", draw)


def _cell(row: Regret) -> dict[str, Any]:
    """Return the fields of a regret's cell in the chart."""
    place = row.point.place
    graph = DatasetName.parse(place.dataset)
    return {
        "kind": f"{graph.dataset.family}:{graph.scale}",
        "degree": f"{2 * graph.edges:g}",
        "hidden": str(place.hidden),
        "way": row.fastest,
        "is_decided": row.point.is_decided,
        "regret": row.judgement.ratio,
    }


def chart(cells: Sequence[Row], ways: Sequence[str], style: Style) -> Spec:
    """Return the map, with a part for each kind of graph. Cells show only the first eight `ways`."""
    marks = [
        {
            **cell,
            "legend": f"{letter}  {cell['way']}",
            "text": f"{letter}{'' if cell['is_decided'] else '?'}\n{_ratio(cell['regret'])}",
            "opacity": _PALE
            + (_STRONG - _PALE) * min(math.log(max(cell["regret"], 1.0)) / math.log(_FULL), 1.0),
        }
        for cell in cells
        if cell["way"] in ways[: len(LETTERS)]
        for letter in LETTERS[ways.index(cell["way"])]
    ]
    legends = [f"{letter}  {way}" for letter, way in zip(LETTERS, ways, strict=False)]
    kinds = list(dict.fromkeys(cell["kind"] for cell in marks))
    part_width = (style.width - 4 * style.font_size) / max(len(kinds), 1) - style.font_size
    widths = sorted({cell["hidden"] for cell in marks}, key=float, reverse=True)
    parts = []
    for kind in kinds:
        kind_cells = [cell for cell in marks if cell["kind"] == kind]
        degrees = sorted({cell["degree"] for cell in kind_cells}, key=float)
        axis = alt.Axis(title="width") if kind == kinds[0] else None
        base = rows_of(kind_cells).encode(
            x=alt.X("degree:O", sort=degrees, title=f"{kind}, mean degree", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("hidden:O", scale=alt.Scale(domain=widths), axis=axis),
        )
        legend = alt.Legend(
            title=None,
            columns=2,
            orient="top",
            labelColor=style.ink,
            labelFontSize=style.font_size,
            labelLimit=0,
            symbolSize=style.symbol * 1.4,
        )
        tiles = base.mark_rect(stroke=style.paper).encode(
            color=alt.Color(
                "legend:N", scale=alt.Scale(domain=legends, range=COLOURS[: len(legends)]), legend=legend
            ),
            opacity=alt.Opacity("opacity:Q", scale=None, legend=None),
        )
        texts = base.mark_text(
            color="#111111", baseline="middle", dy=-style.line_height / 2, lineBreak="\n"
        ).encode(text="text:N")
        height = {"step": 2 * style.line_height}
        parts.append(alt.layer(tiles, texts).properties(width=part_width, height=height))
    spec: Spec = alt.hconcat(*parts).to_dict()
    return {**spec, "config": config(style)}


def _ratio(regret: float) -> str:
    """Write a regret in at most four characters: `1.0x`, `12x`."""
    return f"{regret:.{1 if regret < _WHOLE else 0}f}x"
