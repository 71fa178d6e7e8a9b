"""Texts of `gnnbench watch`: a summary of each step for the terminal, and a report on each change."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ...engine.ground import units
from ...engine.judge.comparison import Compared
from ...engine.show import bisect, verdicts
from ...engine.show.document import Column, Document, Heading, tables
from ...engine.show.lines import Note
from ...engine.show.names import labels_in, short
from ...engine.show.wording import memory_notes, result_notes, verdict
from .state import TIMES, Change, State, Step

_RATIO, _INTERVAL, _MEMORY = verdicts.columns_named("ratio", "interval", "memory")
COLUMNS = (
    Column("first run", "ratio", lambda pair: _RATIO.of(pair[0])),
    Column("interval", "interval", lambda pair: _INTERVAL.of(pair[0])),
    Column("second run", "ratio", lambda pair: _RATIO.of(pair[1])),
    Column("its interval", "interval", lambda pair: _INTERVAL.of(pair[1])),
    Column("memory", "memory", lambda pair: _MEMORY.of(pair[0])),
    Column("outputs", "text", lambda pair: agreement(pair[0])),
)
"""Columns of a table of changes; a row has both comparisons of a benchmark."""


def agreement(row: Compared) -> str:
    """Return how the outputs of both versions agree: `equal`, `close`, `differ`, `not compared`, or empty."""
    return row.results.status if row.results else ""


def counts(step: Step) -> str:
    """Return how many benchmarks have each verdict, `1 slower, 48 same code`, or why there is no verdict."""
    rows = step.first.rows if step.first else ()
    by_verdict = Counter("same code" if row.judgement.same_code else verdict(row) for row in rows)
    summary = ", ".join(f"{number} {word}" for word, number in sorted(by_verdict.items()))
    return "the same files" if step.same_files else summary or step.failed.get("first", "no benchmark")


def versions(step: Step) -> str:
    """Return both versions: `2.7.0 → 2.8.0`."""
    return f"{step.base.name} → {step.head.name}"


def step_document(step: Step) -> Document:
    """Return the document of a step for the terminal."""
    pairs = step.confirmed()
    failures = [f"{part}: {reason}" for part, reason in step.failed.items() if part != "first"]
    causes = {cause: None for name in pairs for cause in step.causes(name)}
    return [
        Note(f"{versions(step)}{' (anchor)' if step.is_anchor else ''}: {counts(step)}"),
        *tables(labels_in(pairs), COLUMNS, pairs),
        *map(Note, (*map(bisect.cause_line, causes), *failures)),
    ]


def title(change: Change, watched: str) -> str:
    """Return the title of a change: `k_hop_subgraph fwd pyg: slower, 1.07x, since torch_geometric 2.7.0`."""
    names = short(labels_in(change.pairs))
    first, *others = change.pairs
    ratio = change.pairs[first][0].judgement.ratio
    size = f", {units.ratio(ratio, '', changed=True).strip()}" if ratio and change.kinds[0] in TIMES else ""
    more = f" and {units.count(len(others), 'other')}" if others else ""
    since = f"{watched} {change.step.head.name}" if ":" not in watched else f"commit {change.step.head.name}"
    between = f"between {change.step.base.name} and" if change.step.is_anchor else "since"
    return f"{names[first]}{more}: {', '.join(change.kinds)}{size}, {between} {since}"


def cause(change: Change) -> str:
    """Name the cause of a change: a commit, or the number of candidates. Empty if unknown."""
    if len(change.causes) > 1:
        return f"one of {units.count(len(change.causes), change.causes[0].kind)}"
    return "".join(map(bisect.cause_line, change.causes))


def report(change: Change, watched: str) -> Document:
    """Return the report on a change, for the package's maintainers."""
    step = change.step
    first, second = next(iter(change.pairs.values()))
    ratios = [
        f"{units.ratio(row.judgement.ratio, changed=True)} "
        f"({units.interval(row.judgement.low, row.judgement.high)})"
        for row in (first, second)
        if row.judgement.ratio and row.judgement.verdict in TIMES
    ]
    count = units.count(len(change.pairs), "benchmark")
    measured = f": {ratios[0]}, and {ratios[1]} in a second run" if len(ratios) > 1 else ""
    agreements = {word for row, _ in change.pairs.values() for word in (agreement(row),) if word}
    notes = [
        note
        for row, _ in change.pairs.values()
        for note in (*row.work.notes(), *memory_notes(row.memory), *result_notes(row.results))
    ]
    outcome = step.search and (step.search.unfinished or "the search saw no change")
    reason = step.failed.get("search", outcome)
    unknown = f"The cause was not found: {reason}." if reason else "The cause was not searched for."
    host = step.first and step.first.environment
    return [
        Heading(title(change, watched)),
        Note(f"{versions(step)}: {count} changed ({', '.join(change.kinds)}){measured}."),
        Note(f"The cause is {cause(change)}." if change.causes else unknown),
        Note(f"The outputs of both versions: {', '.join(sorted(agreements)) or 'not compared'}."),
        *tables(labels_in(change.pairs), COLUMNS, change.pairs),
        *map(Note, dict.fromkeys(notes)),
        *([Note(f"machine: {host.cpu}, {host.cores} cores, Python {host.python}")] if host else []),
        *([Note("repeat", change.command)] if change.command else []),
    ]


def undecided(step: Step) -> list[str]:
    rows = step.first.rows if step.first else ()
    return [row.fullname for row in rows if row.judgement.verdict == "undecided"]


def environments(state: State) -> list[Mapping[str, Any]]:
    """Return the distinct machines of all steps, without fields that differ from run to run."""
    fields = ("cpu", "architecture", "cores", "threads", "memory_bytes", "system", "python", "libraries")
    machines = filter(None, (step.first and step.first.environment for step in state.steps))
    rows = [{name: getattr(machine, name) for name in fields} for machine in machines]
    return [row for number, row in enumerate(rows) if row not in rows[:number]]
