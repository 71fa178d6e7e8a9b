"""Maps of regrets as slides, one for each call and direction."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from .. import units
from ..compare.regret.result import Regret, Regrets
from ..workloads.graphs.catalog import DatasetName
from . import slides
from .charts import regret as chart
from .composed import environment_facts
from .pictures import Picture

_NOTE = (
    "Letter and colour: the fastest way. Number and intensity: regret, the time of the call divided by that "
    "of the fastest way, one without intensity, four and more full."
)


def write(found: Regrets, folder: Path) -> list[Path]:
    """Write a map of each call as SVG and PNG; return the files.

    Args:
        found: the result.
        folder: where.

    Raises:
        OSError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    last = slides.footer(environment_facts(found.environment))
    for name, picture in pictures(found):
        written += slides.save(picture, last, folder / name)
    return written


def pictures(found: Regrets) -> Iterator[tuple[str, Picture]]:
    """Yield the map of each call that has regrets on random graphs of several degrees or widths."""
    calls: dict[tuple[str, str], list[Regret]] = {}
    for row in found.regrets(same_structure=False):
        if DatasetName.parse(row.point.place.dataset).family:
            calls.setdefault((row.way.name, row.point.place.direction), []).append(row)
    places = [point.place for point in found.points]
    for (name, direction), rows in calls.items():
        cells = [
            {
                "kind": row.point.place.dataset.partition("@")[0],
                "degree": f"{2 * DatasetName.parse(row.point.place.dataset).edges:g}",
                "hidden": str(row.point.place.hidden),
                "way": row.fastest,
                "regret": row.judgement.ratio,
            }
            for row in sorted(rows, key=lambda row: places.index(row.point.place))
        ]
        ways = [way for way, _ in Counter(row.fastest for row in rows).most_common()]
        worst = rows[0]
        ratio = units.ratio(worst.judgement.ratio)
        direction_text = direction.replace("_", " and ")
        message = f"{name}, {direction_text}: regret up to {ratio}, on {worst.point.place.dataset}"
        file = re.sub(r"[^a-z0-9]+", "-", f"{name} {direction}".lower())
        draw = partial(chart.chart, cells, ways)
        yield file, Picture("platforms", message, _NOTE, f"{message}. {_NOTE}", draw)
