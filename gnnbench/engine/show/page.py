"""Renders HTML pages. Each page is one file, loads no other file, and runs only gnnbench's scripts."""

import base64
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ... import __version__
from ..ground import units
from . import charts
from .causes import BENCHMARKS, Explained
from .charts import PAGE
from .document import Column, Shown, filled
from .lines import Note
from .measured import half_width
from .names import LONGEST, clean, merge_notes
from .numbers import numbers, other_notes
from .pictures import Picture
from .verdicts import COLUMNS, benchmark_notes, columns_named
from .view import BenchmarkView, View
from .wording import ORDER, change, legend, plural

_SHARED = "gnnbench.engine.show"
"""The package with the templates that all pages share."""
_MOST_CHANGED = 100
"""Maximum number of rows in the table of changed benchmarks; the table of all benchmarks has the rest."""


def render(template: str, *, assets: str = "", package: str = _SHARED, **context: Any) -> str:
    """Return a page. Texts in `context` are cleaned and escaped, and only gnnbench's own scripts run.

    `assets`: name of the page's own style sheet and script. `package`: the package that contains `template`.
    """
    style = "\n".join(_read(f"{name}.css") for name in ("base", assets) if name)
    scripts = [_read(f"{name}.js") for name in ("table", assets) if name]
    sources = f"script-src {' '.join(map(_digest, scripts))}; style-src {_digest(style)}; img-src data:"
    policy = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
    # These texts are gnnbench's own, so they need no escaping.
    markup = {"policy": Markup(policy), "style": Markup(style), "scripts": list(map(Markup, scripts))}  # noqa: S704
    page = _environment().from_string(_read(template, package))
    return page.render(version=__version__, **markup, **context)


def _environment() -> Environment:
    """Return jinja's environment, which cleans and escapes all values."""
    environment = Environment(
        loader=PackageLoader(_SHARED),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_cleaned,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "size": units.size,
        "count": "{:,}".format,
        "breakable": lambda name: escape(_cleaned(name)).replace("_", Markup("_<wbr>")),
        "number": lambda noun, number: units.count(number, noun),
    }
    return environment


def _cleaned(value: Any) -> Any:
    """Return a value that a template inserts. A text is cleaned, unless it is markup."""
    return clean(value, LONGEST) if type(value) is str else value


def _read(name: str, package: str = _SHARED) -> str:
    """Return the text of a file in the folder `templates` of a package."""
    return resources.files(package).joinpath("templates", name).read_text("utf-8")


def _digest(text: str) -> str:
    """Return the hash by which the page's Content-Security-Policy allows a script or a style sheet."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def html(view: View, picture: Picture | None) -> str:
    visible = filled(_COLUMNS, view.rows)
    return render(
        "report.html",
        assets="report",
        view=view,
        counts=_counts(view.benchmarks),
        plural=plural,
        causes=_causes(view),
        most=_MOST_CHANGED,
        changed_columns=filled(_changed_columns(view), view.changed),
        figure=charts.for_page(picture.draw, picture.text) if picture else "",
        caption=picture.caption(PAGE) if picture else "",
        remarks=merge_notes((row.label, other_notes(row)) for row in view.rows),
        columns=visible,
        legend=legend(visible, view.result),
        packed=_pack(list(map(numbers, view.rows))),
    )


def _half_width(view: BenchmarkView) -> Shown | None:
    return half_width(view.time.seconds, *(view.time.interval or (None, None))) if view.time else None


def _of_row(column: Column) -> Column:
    """Return a column of `Compared` as a column of `BenchmarkView`."""
    return replace(column, of=lambda view: view.row and column.of(view.row))


def _limit(view: BenchmarkView) -> float | None:
    return view.timed.part.limit.fraction if view.timed.part.limit else None


def _operators(view: BenchmarkView) -> int | None:
    return view.timed.part.counters.operators if view.timed.part.counters else None


_COLUMNS = (
    Column("time", "time", lambda view: view.seconds),
    Column("±", "fraction", _half_width, aside=True, meaning="half-width of the time's interval"),
    *map(_of_row, COLUMNS[1:]),  # not the first, `time`, which is empty for benchmarks without a verdict
    Column("limit", "fraction", _limit, aside=True, meaning="roofline bound divided by the time"),
    Column("peak", "size", lambda view: view.timed.part.memory.get("peak_bytes"), aside=True),
    Column("operators", "count", _operators, aside=True),
)


def _change(view: BenchmarkView) -> Shown:
    return Shown(change(view.row) if view.row else "", style=view.verdict)


def _times(view: BenchmarkView) -> str:
    """Return the times of base and head as text: `833 µs → 1.00 ms`."""
    seconds = view.seconds
    return f"{units.seconds(seconds / view.ratio)} → {units.seconds(seconds)}" if seconds else ""


def _what_else(view: BenchmarkView) -> str:
    notes = benchmark_notes(view.row) if view.row else ()
    return "; ".join(notes) or "counters are equal, or were not recorded"


def _changed_columns(view: View) -> list[Column]:
    level = units.level(view.result.thresholds.family_level) if view.result else ""
    interval, memory = map(_of_row, columns_named("interval", "memory"))
    return [
        Column("change", "shown", _change),
        replace(interval, title=f"{level} interval", aside=False),
        Column("time", "number", _times),
        memory,
        Column("what else changed", "text", _what_else),
    ]


def _causes(view: View) -> list[tuple[Explained, list[BenchmarkView], list[Note]]]:
    by_name = {benchmark.fullname: benchmark for benchmark in view.benchmarks}
    causes = []
    for explained in view.causes:
        views = [by_name[row.fullname] for row in explained.cause.rows[:BENCHMARKS]]
        commands = [note for note in explained.commands if len(note.command) <= LONGEST]
        causes.append((explained, views, commands))
    return causes


def _pack(content: Any) -> Markup:
    """Return content as compressed JSON in base64, which needs no escaping."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return Markup(base64.b64encode(zlib.compress(text.encode())).decode())  # noqa: S704 - no markup


def _counts(benchmarks: Sequence[BenchmarkView]) -> list[tuple[str, int]]:
    """Return how many benchmarks have each verdict, not counting those that run the same code."""
    counts = Counter(view.verdict for view in benchmarks if view.row and not view.row.judgement.same_code)
    return [(verdict, counts[verdict]) for verdict in ORDER if verdict in counts]
