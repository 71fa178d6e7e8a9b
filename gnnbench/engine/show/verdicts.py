"""Verdicts as documents; the columns of all tables of verdicts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ..drive.result import Result
from ..ground import units
from ..judge.comparison import Compared, Comparison
from ..judge.schedule import Decision
from ..judge.verdict import Judgement
from .causes import Explained, counting, notes_of, ranked
from .document import Column, Document, Shown, tables
from .lines import Note
from .names import brief, grouped, labels_of, short
from .wording import detectable, memory_notes, reasons, result_notes, shrunk, verdict

_Judged = TypeVar("_Judged", Compared, Decision)


def divided(benchmarks: Iterable[_Judged]) -> tuple[list[_Judged], str]:
    """Return the benchmarks with rows, and `31 run the same code` on the others. Empty if there are none."""
    rows = list(benchmarks)
    remaining = [row for row in rows if not row.judgement.same_code]
    count = len(rows) - len(remaining)
    return remaining, f"{count} {'runs' if count == 1 else 'run'} the same code" if count else ""


def newly_decided(decisions: Mapping[str, Decision], printed: set[str]) -> list[str]:
    """Return a line for each decided benchmark that is not in `printed`, and update `printed`."""
    decided = {name: decision for name, decision in decisions.items() if decision.counts.decided}
    new = {name: decision for name, decision in decided.items() if name not in printed}
    printed.clear()  # so that the next comparison prints its own verdicts
    printed.update(decided)
    same_code = divided(new.values())[1]
    lines = [
        " ".join([f"{decision.judgement.verdict} by time", *filter(None, standing(decision)), name])
        for name, decision in new.items()
        if not decision.judgement.same_code
    ]
    return [same_code, *lines] if same_code else lines


def standing(decision: Decision) -> tuple[str, str, str]:
    """Return ratio, interval and pairs of a benchmark that is timed in turns."""
    judgement = decision.judgement
    return (
        units.ratio(judgement.ratio, digits=3, changed=judgement.changed),
        units.interval(judgement.low, judgement.high, 3),
        units.count(decision.counts.pairs, "pair"),
    )


def _ratio(row: Any) -> tuple[float, bool | None] | None:
    judgement = row.judgement
    return None if judgement.ratio is None else (judgement.ratio, judgement.changed)


def _interval(row: Any) -> tuple[float, float] | None:
    judgement = row.judgement
    return None if judgement.low is None else (judgement.low, judgement.high)


def _on(judgement: Judgement) -> Shown:
    """Return the verdict on the GPU's own time or on the host, with its ratio if it is judged by time."""
    ratio = "" if judgement.ratio is None else f"{units.ratio(judgement.ratio, changed=judgement.changed)} "
    return Shown(f"{ratio}{judgement.verdict}", None, judgement.verdict)


def _results(row: Compared) -> Shown | None:
    """Return how outputs agree. Returns None if equal, or not compared, which a note explains."""
    agreement = row.results
    is_plain = agreement is not None and not agreement.only_repeated and not agreement.reservation
    if agreement is None or (is_plain and agreement.status in ("equal", "not compared")):
        return None
    style = ("slower" if agreement.fails else "ignored") if agreement.is_other else ""
    status = "partly compared" if agreement.reservation else agreement.status
    return Shown("kept" if agreement.only_repeated else status, None, style)


COLUMNS = (
    Column("time", "time", lambda row: row.seconds),
    Column("ratio", "ratio", _ratio),
    Column("interval", "interval", _interval, aside=True),
    Column("verdict", "verdict", verdict),
    Column("MDE", "effect", lambda row: detectable(row.judgement)),
    Column("GPU", "shown", lambda row: row.on and _on(row.on.gpu)),
    Column("host", "shown", lambda row: row.on and _on(row.on.host)),
    Column("memory", "memory", lambda row: row.memory),
    Column("outputs", "text", _results),
)
"""The columns of verdict tables after the name, in order; each row is a `Compared`."""


_OF_RUN = 3


def named(*titles: str) -> list[Column]:
    """Return some of the columns."""
    return [column for column in COLUMNS if column.title in titles]


def document(
    run: Comparison, causes: Sequence[Explained] = (), result: Result | None = None, *, verbose: bool = True
) -> Document:
    """Return the tables, notes and causes of a run or part of one; only the first note unless `verbose`."""
    notes = result.first_notes() if result else ()
    rows = ranked(divided(run.rows)[0], causes)
    labels = labels_of(rows)
    noted = [row for row in run.rows if row.notes or row.fullname in labels]
    names = short(labels_of(noted))
    noted.sort(key=_rank)
    by_row = grouped((names[row.fullname], remarks(row, causes)) for row in noted)
    of_rows = [*by_row, *shrunk((row.judgement for row in run.rows), "benchmark")]
    is_urgent = bool(noted) and _rank(noted[0]) < _OF_RUN
    lines = brief([*of_rows, *notes] if is_urgent else [*notes, *of_rows], verbose=verbose)
    below = [
        *map(Note, lines),
        *(note for cause in causes for note in cause.notes(names)),
    ]
    if result and result.command == "ab":
        below += filter(None, (Note(result.power()) if result.power() else None, counting(result)))
    return [*tables(labels, COLUMNS, {row.fullname: row for row in rows}), *below]


def _rank(row: Compared) -> int:
    """Return the sort key of a benchmark's notes; below `_OF_RUN`, they precede the notes on the run."""
    if row.has_other_result:
        return 0
    return 1 if row.is_worse else 2 if row.judgement.verdict == "incomparable" else _OF_RUN


def remarks(row: Compared, causes: Sequence[Explained] = ()) -> list[str]:
    """Return changes other than of time, and why there is no verdict, except what the causes explain."""
    time_notes, other_notes = reasons(row.judgement), (*memory_notes(row.memory), *result_notes(row.results))
    first = (*time_notes, *other_notes) if row.has_other_result else (*other_notes, *time_notes)
    return [*first, *notes_of(row, causes)]
