"""Shows `gnnbench compare --by FIELD`: the benchmarks of one run that differ only in this field, the axis."""

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
"""Labels that identify a benchmark, and the titles of their columns."""
_NUMBERS = columns_named("time", "ratio", "interval")
_VERDICT = (Column("verdict", "verdict", lambda row: row.judgement.verdict),)
_ENOUGH = 3
"""Minimum number of processes that show how the errors of different benchmarks are correlated."""
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
    """Return the table of the benchmarks with the same inputs. Each group holds the rows of one base."""
    prefix = shared_prefix([rows[0].pair.function for rows in groups])
    names = (Column(title, once=True) for title in _names(groups[0][0].pair, prefix))
    value_columns = [*_NUMBERS, *(_VERDICT if is_judged(along) else ())]
    columns = (*names, Column(along.field), *value_columns)
    lines: list[tuple[object, ...]] = []
    no_values = [None] * (len(value_columns) - 1)  # the line of a base has only a time
    for rows in groups:
        name = _names(rows[0].pair, prefix).values()
        lines.append((*name, along.base, rows[0].base_seconds, *no_values))
        lines += [(*name, row.pair.value, *(column.of(row) for column in value_columns)) for row in rows]
    return Table(heading or prefix, columns, lines)


def _mean(along: Along, mean: Mean) -> tuple[object, ...]:
    """Return a mean's row: the compared values of the axis, ratio, interval, and counts of benchmarks."""
    judgement = mean.judgement
    verdicts = Counter[str](row.judgement.verdict for row in along.rows if row.pair.value == mean.value)
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in ORDER if verdicts[verdict])
    benchmarks = units.count(mean.benchmarks, "benchmark")
    bounds = judgement.own_low, judgement.own_high
    text = f"{benchmarks}: {counts}" if is_judged(along) else benchmarks
    is_certain = None if judgement.own_low is None else False  # None adds a question mark
    ratio = judgement.ratio and (judgement.ratio, is_certain)
    return f"{mean.value} / {along.base}", ratio, bounds, text


def is_judged(along: Along) -> bool:
    """Return whether any row has a verdict, which takes at least two processes."""
    unjudged = (Reason.ONE_PROCESS, Reason.TOO_FEW_BLOCKS)
    return any(row.judgement.head_processes and row.judgement.code not in unjudged for row in along.rows)


def notes(along: Along) -> list[str]:
    """Return notes on how to read the tables, on rows, and on benchmarks without a row."""
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
    lines += merge_notes((_name_in_note(row.pair), _notes_on(row, along)) for row in along.rows)
    for count, reason in (
        (along.alone, f"a row needs two benchmarks that differ only in {along.field}, one with {base}"),
        (along.ambiguous, f"another benchmark has the same {along.field} and the same other fields"),
    ):
        if count:
            lines.append(f"{units.count(count, 'benchmark')} without a row: {reason}")
    return lines


def _notes_on(row: Row, along: Along) -> list[str]:
    """Return the reason for a missing verdict, unless the table shows it, and the row's own notes."""
    judgement = row.judgement
    shown = [Reason.WIDE_INTERVAL, *([Reason.ONE_PROCESS] if along.processes == 1 else [])]
    needs_reason = judgement.verdict in ("undecided", "incomparable") and judgement.code not in shown
    return [*([judgement.reason] if needs_reason else []), *row.notes]


def _name_in_note(pair: Pair) -> str:
    """Return the name of a pair for a note: the benchmark and its value of the axis."""
    return " ".join((*_names(pair, shared_prefix([pair.function])).values(), pair.value))


def _heading(pair: Pair) -> str:
    """Return the inputs that both benchmarks share, as a heading. Empty if the benchmarks have no labels."""
    inputs = pair.labels.inputs if pair.labels else {}
    return " · ".join(text for name, text in inputs.items() if name in pair.fields)


def _names(pair: Pair, prefix: str) -> dict[str, str]:
    """Return the cells that identify a benchmark, by column title, without the prefix of its function."""
    if not pair.labels:
        parameters = ", ".join(f"{name}={value}" for name, value in pair.fields.items())
        suffix = f"[{parameters}]" if parameters else ""
        return {"benchmark": f"{pair.function.removeprefix(prefix)}{suffix}"}
    fields = {**pair.fields, "direction": pair.labels.direction}
    names = {title: fields[name] for name, title in _NAMES.items() if name in pair.fields}
    shown = {*_NAMES, *pair.labels.inputs}
    others = "".join(f" {name}={value}" for name, value in fields.items() if name not in shown)
    names[next(iter(names))] += others
    return names
