"""Maps of regrets as slides."""

import re
import statistics
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

from .. import units
from ..compare.regret.result import Regret, Regrets
from ..workloads.graphs.catalog import DatasetName
from . import slides
from .charts import regret as chart
from .composed import environment_facts
from .pictures import Picture
from .regret import random_graph

_NOTE = (
    "Letter and colour: the fastest of all ways; ?: not known for sure. Number and intensity: time of the "
    "call / time of the fastest way. Pale: 1x; full: 4x or more."
)
_THREADS = "threads"
"""The fact on the session's threads; a map says those of its points."""
_LONGEST_NAME = 150


def write(found: Regrets, folder: Path) -> list[Path]:
    """Write a map of each call as SVG and PNG; return the files.

    Args:
        found: the result.
        folder: where.

    Raises:
        OSError: a file cannot be written.
    """
    written: list[Path] = []
    facts = environment_facts(found.environment)
    last = slides.footer(fact for fact in facts if fact[0] != _THREADS)
    for name, picture in pictures(found):
        written += slides.save(picture, last, folder / name)
    return written


def pictures(found: Regrets) -> Iterator[tuple[str, Picture]]:
    """Yield name and map of each call on random graphs: one for each direction, size, types and threads."""
    maps: dict[tuple[str, ...], list[Regret]] = {}
    for row in found.regrets(same_structure=False):
        place = row.point.place
        if graph := random_graph(place.dataset):
            more = place.dtype, place.index_dtype, units.count(place.threads, "thread"), place.device
            direction = place.direction.replace("_", " and ")
            maps.setdefault((row.way.name, direction, f"2**{graph.scale} nodes", *more), []).append(row)
    differs = [True, True, *[len(set(values)) > 1 for values in zip(*maps, strict=True)][2:]]
    places = [point.place for point in found.points]
    for key, rows in maps.items():
        ways = [way for way, _ in Counter(row.fastest for row in rows).most_common()]
        what = ", ".join(compress(key, differs))
        regrets = [row.judgement.ratio or 1.0 for row in rows]
        median = units.ratio(statistics.median(regrets))
        message = f"{what}: {median} the time of the fastest way in the median"
        if (low := rows[0].judgement.low) is not None:  # the worst point comes first
            message += f", at least {units.ratio(low)} at the worst point"
        cells = list(map(_cell, sorted(rows, key=lambda row: places.index(row.point.place))))
        draw = partial(chart.chart, cells, ways)
        file = re.sub(r"[^a-z0-9]+", "-", what.lower())[:_LONGEST_NAME]
        note = f"{', '.join(key[3:])}. {_NOTE}"
        yield file, Picture("platforms", message, note, f"{message}. {note}", draw)


def _cell(row: Regret) -> dict[str, Any]:
    """Return what the chart shows of a regret."""
    place = row.point.place
    graph = DatasetName.parse(place.dataset)
    return {
        "kind": f"{graph.family}:{graph.scale}",
        "degree": f"{2 * graph.edges:g}",
        "hidden": str(place.hidden),
        "way": row.fastest,
        "is_decided": row.point.is_decided,
        "regret": row.judgement.ratio,
    }
