"""Benchmarks of a run along an axis, as a document: a table for each inputs, the means, and notes."""

from collections import Counter

from ..drive.along import Along, Mean, Pair, Row
from ..ground import units
from ..judge.verdict import Reason
from .document import Column, Document, Table
from .lines import Note
from .names import brief, grouped, shared_place
from .verdicts import named
from .wording import ORDER, shrunk

_NAMES = {"operation": "operation", "direction": "dir", "platform": "on"}
"""Labels that name a benchmark in a table, and their columns."""
_NUMBERS = named("time", "ratio", "interval")
_VERDICT = (Column("verdict", "verdict", lambda row: row.judgement.verdict),)
_ENOUGH = 3
"""Processes from which on it is known how far the errors of different benchmarks are correlated."""
MEANS = "geometric mean of the ratios, over the benchmarks that both have"


def document(found: Along, *, verbose: bool = True) -> Document:
    """Return a table for each combination of inputs, the means, and the notes."""
    blocks: dict[str, dict[str, list[Row]]] = {}
    for row in found.rows:
        blocks.setdefault(_heading(row.pair), {}).setdefault(row.pair.base, []).append(row)
    tables = [_table(heading, list(groups.values()), found) for heading, groups in blocks.items()]
    if found.means:
        columns = (Column(""), *_NUMBERS[1:], Column("benchmarks", "text"))
        tables.append(Table(MEANS, columns, [_mean(found, mean) for mean in found.means]))
    return [*tables, *map(Note, brief(notes(found), verbose=verbose))]


def _table(heading: str, groups: list[list[Row]], found: Along) -> Table:
    """Return the table of the benchmarks with the same inputs."""
    place = shared_place([rows[0].pair.function for rows in groups])
    names = (Column(name, once=True) for name in _columns(groups[0][0].pair))
    shown = [*_NUMBERS, *(_VERDICT if is_judged(found) else ())]
    columns = (*names, Column(found.field), *shown)
    table: list[tuple[object, ...]] = []
    for rows in groups:
        name = _names(rows[0].pair, place)
        table.append((*name, found.base, rows[0].base_seconds, *([None] * len(shown[1:]))))
        table += [(*name, row.pair.value, *(column.of(row) for column in shown)) for row in rows]
    return Table(heading or place, columns, table)


def _mean(found: Along, mean: Mean) -> tuple[object, ...]:
    """Return what is divided, the ratio, its interval, and of how many benchmarks with which verdicts."""
    judged = mean.judgement
    verdicts: Counter[str] = Counter(
        row.judgement.verdict for row in found.rows if row.pair.value == mean.value
    )
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in ORDER if verdicts[verdict])
    benchmarks = units.count(mean.benchmarks, "benchmark")
    bounds = judged.own_low, judged.own_high
    what = f"{benchmarks}: {counts}" if is_judged(found) else benchmarks
    ratio = None if judged.ratio is None else (judged.ratio, None if judged.own_low is None else False)
    return f"{mean.value} / {found.base}", ratio, bounds, what


def is_judged(found: Along) -> bool:
    """Return whether a row has a verdict; with one process none has."""
    unjudged = (Reason.ONE_PROCESS, Reason.TOO_FEW_BLOCKS)
    return any(row.judgement.head_processes and row.judgement.code not in unjudged for row in found.rows)


def notes(found: Along) -> list[str]:
    """Return what the numbers mean, and notes on rows and on benchmarks without a row."""
    base = f"{found.field} {found.base}"
    family, own = units.level(found.thresholds.family_level), units.level(found.thresholds.own_level)
    lines = [f"ratio: time divided by that with {base}; interval: {family}, simultaneous for all rows"]
    if found.means:
        lines.append(f"each mean uses only the benchmarks in its row, with equal weights; interval: {own}")
    if found.processes == 1:
        lines.insert(
            0,
            "one process: the intervals cover variation within it only. Separate processes differ by more, "
            "so no row has a verdict, and no mean an interval: give the files of several processes",
        )
    elif found.processes:
        few = f"; rows need {_ENOUGH} for a narrow interval" if found.processes < _ENOUGH else ""
        lines.append(f"{found.processes} processes of one run{few}")
    lines += shrunk((row.judgement for row in found.rows), "row")
    lines += [
        f"no interval of the mean of {mean.value}: a benchmark has too few blocks for one"
        for mean in found.means
        if mean.judgement.code is Reason.TOO_FEW_BLOCKS
    ]
    lines += grouped((_sentence(row.pair), _remarks(row, found)) for row in found.rows)
    for count, why in (
        (found.alone, f"has no partner that differs in {found.field} alone, with {base} on one side"),
        (found.ambiguous, f"has the same {found.field} and the same other fields as another"),
    ):
        if count:
            lines.append(f"{units.count(count, 'benchmark')} without a row: each {why}")
    return lines


def _remarks(row: Row, found: Along) -> list[str]:
    """Return why a row has no verdict, if the table does not show it, and its notes."""
    judged = row.judgement
    obvious = [Reason.WIDE_INTERVAL, *([Reason.ONE_PROCESS] if found.processes == 1 else [])]
    unsure = judged.verdict in ("undecided", "incomparable") and judged.code not in obvious
    return [*([judged.reason] if unsure else []), *row.notes]


def _sentence(pair: Pair) -> str:
    """Return the name of a row in a sentence."""
    return " ".join((*_names(pair, shared_place([pair.function])), pair.value))


def _heading(pair: Pair) -> str:
    """Return the inputs of a benchmark with labels."""
    inputs = pair.labels.inputs if pair.labels else {}
    return " · ".join(text for name, text in inputs.items() if name in pair.fields)


def _columns(pair: Pair) -> tuple[str, ...]:
    named = (column for name, column in _NAMES.items() if name in pair.fields)
    return ("benchmark",) if pair.function else tuple(named)


def _names(pair: Pair, place: str) -> tuple[str, ...]:
    """Return what names a benchmark in a table, without the folder or file that all have in common."""
    if not pair.labels:
        others = ", ".join(f"{name}={value}" for name, value in pair.fields.items())
        return (f"{pair.function.removeprefix(place)}{f'[{others}]' if others else ''}",)
    fields = {**pair.fields, "direction": pair.labels.direction}
    first, *rest = (fields[name] for name in _NAMES if name in pair.fields)
    others = "".join(
        f" {name}={value}" for name, value in fields.items() if name not in {*_NAMES, *pair.labels.inputs}
    )
    return first + others, *rest
