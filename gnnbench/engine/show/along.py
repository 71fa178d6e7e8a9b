"""Shows `compare --by`: benchmarks of one run that differ in one field, which is called the axis."""

from collections import Counter

from ..drive.along import Along, Mean, Pair, Row
from ..ground import units
from ..judge.verdict import Reason
from .document import Column, Document, Table
from .lines import Note
from .names import abridge, merge_notes, shared_prefix
from .verdicts import columns_named
from .wording import ORDER, pooling_note

_NAMES = {"operation": "operation", "direction": "dir", "platform": "on"}
"""The labels that name a benchmark, with the titles of their columns."""
_NUMBERS = columns_named("time", "ratio", "interval")
_VERDICT = (Column("verdict", "verdict", lambda row: row.judgement.verdict),)
_ENOUGH = 3
"""Fewest processes that show how far the errors of different benchmarks are correlated."""
MEANS = "geometric mean of the ratios, over the benchmarks with both values"


def document(along: Along, *, verbose: bool = True) -> Document:
    """Return a table for each combination of inputs, a table of the means, and the notes."""
    by_heading: dict[str, dict[str, list[Row]]] = {}
    for row in along.rows:
        by_heading.setdefault(_heading(row.pair), {}).setdefault(row.pair.base, []).append(row)
    tables = [_table(heading, list(groups.values()), along) for heading, groups in by_heading.items()]
    if along.means:
        columns = (Column(""), *_NUMBERS[1:], Column("benchmarks", "text"))
        tables.append(Table(MEANS, columns, [_mean(along, mean) for mean in along.means]))
    return [*tables, *map(Note, abridge(notes(along), verbose=verbose))]


def _table(heading: str, groups: list[list[Row]], along: Along) -> Table:
    """Return the table of the benchmarks with the same inputs; each group has the rows with the same base."""
    prefix = shared_prefix([rows[0].pair.function for rows in groups])
    names = (Column(title, once=True) for title in _names(groups[0][0].pair, prefix))
    value_columns = [*_NUMBERS, *(_VERDICT if is_judged(along) else ())]
    columns = (*names, Column(along.field), *value_columns)
    table: list[tuple[object, ...]] = []
    for rows in groups:
        name = _names(rows[0].pair, prefix).values()
        table.append((*name, along.base, rows[0].base_seconds, *([None] * len(value_columns[1:]))))
        table += [(*name, row.pair.value, *(column.of(row) for column in value_columns)) for row in rows]
    return Table(heading or prefix, columns, table)


def _mean(along: Along, mean: Mean) -> tuple[object, ...]:
    """Return the cells of a mean: both values, the ratio, its interval, and counts of benchmarks."""
    judgement = mean.judgement
    verdicts: Counter[str] = Counter(
        row.judgement.verdict for row in along.rows if row.pair.value == mean.value
    )
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in ORDER if verdicts[verdict])
    benchmarks = units.count(mean.benchmarks, "benchmark")
    bounds = judgement.own_low, judgement.own_high
    text = f"{benchmarks}: {counts}" if is_judged(along) else benchmarks
    ratio = judgement.ratio and (judgement.ratio, None if judgement.own_low is None else False)
    return f"{mean.value} / {along.base}", ratio, bounds, text


def is_judged(along: Along) -> bool:
    """Return whether any row has a verdict, which takes at least two processes."""
    unjudged = (Reason.ONE_PROCESS, Reason.TOO_FEW_BLOCKS)
    return any(row.judgement.head_processes and row.judgement.code not in unjudged for row in along.rows)


def notes(along: Along) -> list[str]:
    """Return how to read the tables, then notes on rows and on benchmarks without a row."""
    base = f"{along.field} {along.base}"
    family, level = units.level(along.thresholds.family_level), units.level(along.thresholds.own_level)
    lines = [f"ratio: time divided by the time with {base}; interval: {family}, simultaneous for all rows"]
    if along.means:
        lines.append(f"each mean uses only the benchmarks in its row, with equal weights; interval: {level}")
    if along.processes == 1:
        lines.insert(
            0,
            "one process: the intervals cover only the variation within it. Processes differ by more, so "
            "there are no verdicts and no intervals of means: give the files of several processes",
        )
    elif along.processes:
        few = f"; {_ENOUGH} are needed for a narrow interval of a row" if along.processes < _ENOUGH else ""
        lines.append(f"{along.processes} processes of one run{few}")
    lines += pooling_note((row.judgement for row in along.rows), "row")
    lines += [
        f"no interval for the mean of {mean.value}: a benchmark has too few measurements"
        for mean in along.means
        if mean.judgement.code is Reason.TOO_FEW_BLOCKS
    ]
    lines += merge_notes((_sentence(row.pair), _remarks(row, along)) for row in along.rows)
    for count, reason in (
        (
            along.alone,
            f"a row needs two benchmarks that differ only in {along.field}, one with {base}",
        ),
        (along.ambiguous, f"another benchmark has the same {along.field} and the same other fields"),
    ):
        if count:
            lines.append(f"{units.count(count, 'benchmark')} without a row: {reason}")
    return lines


def _remarks(row: Row, along: Along) -> list[str]:
    """Return the notes on a row: why it has no verdict, unless the table shows it, and its own notes."""
    judgement = row.judgement
    visible = [Reason.WIDE_INTERVAL, *([Reason.ONE_PROCESS] if along.processes == 1 else [])]
    needs_reason = judgement.verdict in ("undecided", "incomparable") and judgement.code not in visible
    return [*([judgement.reason] if needs_reason else []), *row.notes]


def _sentence(pair: Pair) -> str:
    """Return the name of a row for a sentence: its benchmark and its value."""
    return " ".join((*_names(pair, shared_prefix([pair.function])).values(), pair.value))


def _heading(pair: Pair) -> str:
    """Return the inputs of both benchmarks, without the axis. Empty if they have no labels."""
    inputs = pair.labels.inputs if pair.labels else {}
    return " · ".join(text for name, text in inputs.items() if name in pair.fields)


def _names(pair: Pair, prefix: str) -> dict[str, str]:
    """Return the cells that name a benchmark, by column; the prefix that all functions share is left out."""
    if not pair.labels:
        others = ", ".join(f"{name}={value}" for name, value in pair.fields.items())
        return {"benchmark": f"{pair.function.removeprefix(prefix)}{f'[{others}]' if others else ''}"}
    fields = {**pair.fields, "direction": pair.labels.direction}
    names = {title: fields[name] for name, title in _NAMES.items() if name in pair.fields}
    known = {*_NAMES, *pair.labels.inputs}
    names[next(iter(names))] += "".join(
        f" {name}={value}" for name, value in fields.items() if name not in known
    )
    return names
