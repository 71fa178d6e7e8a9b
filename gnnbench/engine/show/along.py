"""Benchmarks of a run along an axis, as a document: tables by inputs, the means, and notes."""

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
"""Fewest processes that show how far the errors of different benchmarks are correlated."""
MEANS = "geometric mean of the ratios, over the benchmarks that both have"


def document(along: Along, *, verbose: bool = True) -> Document:
    """Return a table for each combination of inputs, the means, and the notes."""
    blocks: dict[str, dict[str, list[Row]]] = {}
    for row in along.rows:
        blocks.setdefault(_heading(row.pair), {}).setdefault(row.pair.base, []).append(row)
    tables = [_table(heading, list(groups.values()), along) for heading, groups in blocks.items()]
    if along.means:
        columns = (Column(""), *_NUMBERS[1:], Column("benchmarks", "text"))
        tables.append(Table(MEANS, columns, [_mean(along, mean) for mean in along.means]))
    return [*tables, *map(Note, brief(notes(along), verbose=verbose))]


def _table(heading: str, groups: list[list[Row]], along: Along) -> Table:
    """Return the table of the benchmarks with the same inputs."""
    place = shared_place([rows[0].pair.function for rows in groups])
    names = (Column(name, once=True) for name in _columns(groups[0][0].pair))
    value_columns = [*_NUMBERS, *(_VERDICT if is_judged(along) else ())]
    columns = (*names, Column(along.field), *value_columns)
    table: list[tuple[object, ...]] = []
    for rows in groups:
        name = _names(rows[0].pair, place)
        table.append((*name, along.base, rows[0].base_seconds, *([None] * len(value_columns[1:]))))
        table += [(*name, row.pair.value, *(column.of(row) for column in value_columns)) for row in rows]
    return Table(heading or place, columns, table)


def _mean(along: Along, mean: Mean) -> tuple[object, ...]:
    """Return the cells of a mean: what is divided, the ratio, its interval, and counts of verdicts."""
    judged = mean.judgement
    verdicts: Counter[str] = Counter(
        row.judgement.verdict for row in along.rows if row.pair.value == mean.value
    )
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in ORDER if verdicts[verdict])
    benchmarks = units.count(mean.benchmarks, "benchmark")
    bounds = judged.own_low, judged.own_high
    what = f"{benchmarks}: {counts}" if is_judged(along) else benchmarks
    ratio = None if judged.ratio is None else (judged.ratio, None if judged.own_low is None else False)
    return f"{mean.value} / {along.base}", ratio, bounds, what


def is_judged(along: Along) -> bool:
    """Return whether any row has a verdict, which takes at least two processes."""
    unjudged = (Reason.ONE_PROCESS, Reason.TOO_FEW_BLOCKS)
    return any(row.judgement.head_processes and row.judgement.code not in unjudged for row in along.rows)


def notes(along: Along) -> list[str]:
    """Return what the numbers mean, and notes on rows and on benchmarks without a row."""
    base = f"{along.field} {along.base}"
    family, level = units.level(along.thresholds.family_level), units.level(along.thresholds.own_level)
    lines = [f"ratio: time divided by that with {base}; interval: {family}, simultaneous for all rows"]
    if along.means:
        lines.append(f"each mean uses only the benchmarks in its row, with equal weights; interval: {level}")
    if along.processes == 1:
        lines.insert(
            0,
            "one process: the intervals cover variation within it only. Separate processes differ by more, "
            "so no row has a verdict, and no mean an interval: give the files of several processes",
        )
    elif along.processes:
        few = f"; rows need {_ENOUGH} for a narrow interval" if along.processes < _ENOUGH else ""
        lines.append(f"{along.processes} processes of one run{few}")
    lines += shrunk((row.judgement for row in along.rows), "row")
    lines += [
        f"no interval of the mean of {mean.value}: a benchmark has too few measurements"
        for mean in along.means
        if mean.judgement.code is Reason.TOO_FEW_BLOCKS
    ]
    lines += grouped((_sentence(row.pair), _remarks(row, along)) for row in along.rows)
    for count, why in (
        (along.alone, f"has no counterpart with {base} and otherwise the same fields"),
        (along.ambiguous, f"has the same {along.field} and the same other fields as another"),
    ):
        if count:
            lines.append(f"{units.count(count, 'benchmark')} without a row: each {why}")
    return lines


def _remarks(row: Row, along: Along) -> list[str]:
    """Return why a row has no verdict, unless the table shows why, and the row's notes."""
    judgement = row.judgement
    obvious = [Reason.WIDE_INTERVAL, *([Reason.ONE_PROCESS] if along.processes == 1 else [])]
    unsure = judgement.verdict in ("undecided", "incomparable") and judgement.code not in obvious
    return [*([judgement.reason] if unsure else []), *row.notes]


def _sentence(pair: Pair) -> str:
    """Return the name of a row in a sentence."""
    return " ".join((*_names(pair, shared_place([pair.function])), pair.value))


def _heading(pair: Pair) -> str:
    """Return the inputs of a benchmark with labels."""
    inputs = pair.labels.inputs if pair.labels else {}
    return " · ".join(text for name, text in inputs.items() if name in pair.fields)


def _columns(pair: Pair) -> tuple[str, ...]:
    columns = (column for name, column in _NAMES.items() if name in pair.fields)
    return ("benchmark",) if pair.function else tuple(columns)


def _names(pair: Pair, place: str) -> tuple[str, ...]:
    """Return the cells that name a benchmark, without the folder or file that all have in common."""
    if not pair.labels:
        others = ", ".join(f"{name}={value}" for name, value in pair.fields.items())
        return (f"{pair.function.removeprefix(place)}{f'[{others}]' if others else ''}",)
    fields = {**pair.fields, "direction": pair.labels.direction}
    first, *rest = (fields[name] for name in _NAMES if name in pair.fields)
    others = "".join(
        f" {name}={value}" for name, value in fields.items() if name not in {*_NAMES, *pair.labels.inputs}
    )
    return first + others, *rest
