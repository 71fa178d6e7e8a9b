"""Benchmarks of a run along an axis: tables in a terminal and in Markdown, and the notes below them."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from .. import units
from ..compare.along import Along, Mean, Row
from ..compare.axis import Pair
from ..compare.verdict import Reason, Thresholds
from .console import Printout
from .labels import Folded
from .markdown_text import cell, code, prose
from .names import clean
from .table import SHORT_DIRECTION, grouped, shared_place
from .verdicts import ORDER, styled

_NAMES = {"operation": "operation", "direction": "dir", "platform": "on"}
"""Fields of a spec that name a benchmark in a table, and their columns."""
_INPUTS = ("dataset", "hidden", "dtype", "index_dtype", "device")
"""Fields of a spec that stand above a table."""
_NUMBERS = ("time", "ratio", "interval")
_ENOUGH = 3
"""Processes from which on it is known how far the errors of different benchmarks are correlated."""
MEANS = "geometric mean of the ratios, over the benchmarks that both have"


@dataclass(frozen=True)
class _Block:
    """A table: the benchmarks with the same inputs."""

    heading: str
    columns: tuple[str, ...]
    """Of what names the benchmarks, without the axis."""
    groups: tuple[tuple[tuple[str, ...], tuple[Row, ...]], ...]
    """Names, and rows with the same base."""


def write(
    found: Along, thresholds: Thresholds, out: Callable[[str], Any], width: int | None, *, colour: bool
) -> None:
    """Write a table for each combination of inputs, the means, and the notes.

    Args:
        found: the comparison.
        thresholds: of the comparison.
        out: writes a text.
        width: characters per line; None: the output is not a terminal.
        colour: whether the output shows colours.
    """
    printout = Printout(width, colour=colour)
    for block in _blocks(found):
        printout.show()
        printout.show(Text(block.heading, "bold"))
        printout.show(_table(block, found))
    if found.means:
        printout.show()
        printout.show(Text(MEANS, "bold"))
        printout.show(_means(found))
    for line in notes(found, thresholds):
        printout.say(line)
    out(printout.text)


def _table(block: _Block, found: Along) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for column in (*block.columns, clean(found.field)):
        table.add_column(column, no_wrap=column in ("dir", "on"))
    for column in _NUMBERS:
        table.add_column(column, justify="right", no_wrap=True)
    if is_judged(found):
        table.add_column("verdict", no_wrap=True)
    for names, rows in block.groups:
        table.add_row(*map(Folded, (*names, clean(found.base))), _time(rows[0].base_seconds))
        for row in rows:
            verdict = [styled(row.judgement.verdict)] if is_judged(found) else []
            table.add_row(*[""] * len(names), Folded(clean(row.pair.value)), *_numbers(row), *verdict)
    return table


def _means(found: Along) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_header=False)
    for mean in found.means:
        table.add_row(*(Folded(text) for text in _mean(found, mean)))
    return table


def _mean(found: Along, mean: Mean) -> tuple[str, str, str, str]:
    """Return what is divided, the ratio, its interval, and of how many benchmarks with which verdicts."""
    judged = mean.judgement
    verdicts: Counter[str] = Counter(
        row.judgement.verdict for row in found.rows if row.pair.value == mean.value
    )
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in ORDER if verdicts[verdict])
    benchmarks = units.count(mean.benchmarks, "benchmark")
    return (
        clean(f"{mean.value} / {found.base}"),
        units.ratio(judged.ratio),
        units.interval(judged.own_low, judged.own_high),
        f"{benchmarks}: {counts}" if is_judged(found) else benchmarks,
    )


def _time(seconds: float | None) -> str:
    return "" if seconds is None else units.seconds(seconds)


def _numbers(row: Row) -> tuple[str, str, str]:
    judged = row.judgement
    ratio = units.ratio(judged.ratio, changed=judged.changed)
    return _time(row.seconds), ratio, units.interval(judged.low, judged.high)


def markdown(found: Along, thresholds: Thresholds) -> str:
    """Write the same as GitHub's Markdown."""
    lines = []
    for block in _blocks(found):
        columns = (*block.columns, found.field)
        last = ("verdict",) if is_judged(found) else ()
        lines += [code(block.heading), ""] if block.heading else []
        lines += _row((*(cell(one) if one == found.field else one for one in columns), *_NUMBERS, *last))
        lines += [f"|{'|'.join(['---'] * len(columns) + ['---:'] * len(_NUMBERS) + ['---'] * len(last))}|"]
        for names, rows in block.groups:
            empty = [""] * (len(_NUMBERS) - 1 + len(last))
            lines += _row((*map(cell, (*names, found.base)), _time(rows[0].base_seconds), *empty))
            for row in rows:
                verdict = [row.judgement.verdict] if last else []
                lines += _row((*map(cell, (*names, row.pair.value)), *_numbers(row), *verdict))
        lines.append("")
    if found.means:
        lines += [f"{MEANS.capitalize()}:", "", *_row(("", "ratio", "interval", "benchmarks"))]
        lines += ["|---|---:|---:|---|"]
        for mean in found.means:
            what, *numbers = _mean(found, mean)
            lines += _row((cell(what), *numbers))
        lines.append("")
    return "\n".join([*lines, *(f"- {prose(note)}" for note in notes(found, thresholds))]) + "\n"


def _row(cells: Iterable[str]) -> list[str]:
    return [f"| {' | '.join(cells)} |"]


def is_judged(found: Along) -> bool:
    """Return whether a row has a verdict; with one process none has."""
    unjudged = (Reason.ONE_PROCESS, Reason.TOO_FEW_BLOCKS)
    return any(row.judgement.head_processes and row.judgement.code not in unjudged for row in found.rows)


def notes(found: Along, thresholds: Thresholds) -> list[str]:
    """Return what the numbers mean, and notes on rows and on benchmarks without a row."""
    base = f"{found.field} {found.base}"
    family, own = units.level(thresholds.family_level), units.level(thresholds.own_level)
    lines = [f"ratio: time divided by that with {base}; interval: {family}, simultaneous for all rows"]
    if found.means:
        lines.append(f"each mean uses only the benchmarks in its row, with equal weights; interval: {own}")
    if found.processes == 1:
        lines.append(
            "one process: the intervals cover variation within it only. Separate processes differ by more, "
            "so no row has a verdict, and no mean an interval: give the files of several processes"
        )
    elif found.processes:
        few = f"; rows need {_ENOUGH} for a narrow interval" if found.processes < _ENOUGH else ""
        lines.append(f"{found.processes} processes of one run{few}")
    shrunk = sum(row.judgement.shrunk for row in found.rows)
    if shrunk:
        rows = units.count(shrunk, "row")
        lines.append(f"{rows}: variance between processes mostly estimated from the others")
    lines += [
        f"no interval of the mean of {clean(mean.value)}: a benchmark has too few blocks for one"
        for mean in found.means
        if mean.judgement.code is Reason.TOO_FEW_BLOCKS
    ]
    lines += grouped((_sentence(row.pair), _remarks(row, found)) for row in found.rows)
    for count, why in (
        (found.alone, f"has no partner that differs in {found.field} alone, with {base} on one side"),
        (found.ambiguous, f"has the same {found.field} and the same other fields as another"),
    ):
        if count:
            lines.append(f"{units.count(count, 'benchmark')} without a row: each {clean(why)}")
    return [clean(line, 2000) for line in lines]


def _remarks(row: Row, found: Along) -> list[str]:
    """Return why a row has no verdict, if the table does not show it, and its notes."""
    judged = row.judgement
    obvious = [Reason.WIDE_INTERVAL, *([Reason.ONE_PROCESS] if found.processes == 1 else [])]
    unsure = judged.verdict in ("undecided", "incomparable") and judged.code not in obvious
    return [*([judged.reason] if unsure else []), *row.notes]


def _sentence(pair: Pair) -> str:
    """Return the name of a row in a sentence."""
    return clean(" ".join((*_names(pair, shared_place([pair.function])), pair.value)))


def _blocks(found: Along) -> list[_Block]:
    blocks: dict[str, dict[str, list[Row]]] = {}
    for row in found.rows:
        blocks.setdefault(_heading(row.pair), {}).setdefault(row.pair.base, []).append(row)
    made = []
    for heading, groups in blocks.items():
        pairs = [rows[0].pair for rows in groups.values()]
        place = shared_place([pair.function for pair in pairs])
        named = zip(pairs, groups.values(), strict=True)
        cells = tuple((_names(pair, place), tuple(rows)) for pair, rows in named)
        made.append(_Block(clean(heading or place), _columns(pairs[0]), cells))
    return made


def _heading(pair: Pair) -> str:
    """Return the inputs of a benchmark with a spec."""
    texts = {**pair.fields, "hidden": f"hidden {pair.fields.get('hidden')}"}
    return "" if pair.function else " · ".join(texts[name] for name in _INPUTS if name in pair.fields)


def _columns(pair: Pair) -> tuple[str, ...]:
    named = (column for name, column in _NAMES.items() if name in pair.fields)
    return ("benchmark",) if pair.function else tuple(named)


def _names(pair: Pair, place: str) -> tuple[str, ...]:
    """Return what names a benchmark in a table, without the folder or file that all have in common."""
    if pair.function:
        others = ", ".join(f"{name}={value}" for name, value in pair.fields.items())
        return (clean(f"{pair.function.removeprefix(place)}{f'[{others}]' if others else ''}"),)
    fields = {**pair.fields, "direction": SHORT_DIRECTION.get(pair.fields.get("direction", ""), "")}
    first, *rest = (fields[name] for name in _NAMES if name in pair.fields)
    others = "".join(f" {name}={value}" for name, value in fields.items() if name not in {*_NAMES, *_INPUTS})
    return (clean(first + others), *map(clean, rest))
