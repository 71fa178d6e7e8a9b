"""Makes documents of verdicts, and defines the columns of their tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..drive.result import Result
from ..ground import units
from ..judge.comparison import Compared, Comparison
from ..judge.schedule import Decision
from ..judge.verdict import Judgement
from .causes import Explained, counting_command, notes_of, ranked
from .document import Column, Document, Shown, tables
from .lines import Note
from .names import abridge, labels_of, merge_notes, short
from .wording import detectable, memory_notes, pooling_note, reasons, result_notes, same_code, verdict


def new_verdicts(decisions: Mapping[str, Decision], printed: set[str]) -> list[str]:
    """Return lines on the decided benchmarks that are not yet in `printed`, and update `printed`."""
    decided = {name: decision for name, decision in decisions.items() if decision.counts.decided}
    new = {name: decision for name, decision in decided.items() if name not in printed}
    printed.clear()  # drops names of an earlier comparison, so that this one prints its own verdicts
    printed.update(decided)
    count = sum(decision.judgement.same_code for decision in new.values())
    lines = [
        " ".join([f"{decision.judgement.verdict} (by time)", *filter(None, figures(decision)), name])
        for name, decision in new.items()
        if not decision.judgement.same_code
    ]
    return [same_code(count), *lines] if count else lines


def figures(decision: Decision) -> tuple[str, str, str]:
    """Return a benchmark's ratio, its interval, and the number of pairs of processes, as texts."""
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


def _gpu_or_host(judgement: Judgement) -> Shown:
    """Return the cell of the column `GPU` or `host`: the ratio, if there is one, and the verdict."""
    ratio = "" if judgement.ratio is None else f"{units.ratio(judgement.ratio, changed=judgement.changed)} "
    return Shown(f"{ratio}{judgement.verdict}", None, judgement.verdict)


def _results(row: Compared) -> Shown | None:
    """Return the cell on outputs. None if they are equal, or were not compared, which a note explains."""
    agreement = row.results
    is_plain = agreement is not None and not agreement.only_repeated and not agreement.reservation
    if agreement is None or (is_plain and agreement.status in ("equal", "not compared")):
        return None
    style = ("slower" if agreement.fails else "ignored") if agreement.is_different else ""
    status = "partly compared" if agreement.reservation else agreement.status
    return Shown("kept" if agreement.only_repeated else status, None, style)


_VERDICTS = (
    "slower or faster if the simultaneous interval excludes 1 and the change is at least {effect}; same if "
    "the per-benchmark {level} interval differs from 1 by less than {effect}; incomparable if the sides "
    "cannot be compared; otherwise undecided"
)
_MDE = "minimum detectable effect of an undecided benchmark (power 90%)"
_MEMORY = "change of the peak, excluding inputs; empty if it is below 1% or 64 KiB"
COLUMNS = (
    Column("time", "time", lambda row: row.seconds, meaning="one call in the head"),
    Column("ratio", "ratio", _ratio, meaning="the head's time divided by the base's"),
    Column("interval", "interval", _interval, aside=True, meaning="simultaneous {family} interval"),
    Column("verdict", "verdict", verdict, meaning=_VERDICTS),
    Column("MDE", "effect", lambda row: detectable(row.judgement), meaning=_MDE),
    Column("GPU", "shown", lambda row: row.on and _gpu_or_host(row.on.gpu), meaning="by the GPU's own time"),
    Column("host", "shown", lambda row: row.on and _gpu_or_host(row.on.host), meaning="by the host's time"),
    Column("memory", "memory", lambda row: row.memory, meaning=_MEMORY),
    Column("outputs", "text", _results, meaning="how the outputs differ from those of the base"),
)
"""The columns of verdict tables after the names, in order; each row is a `Compared`."""


def columns_named(*titles: str) -> list[Column]:
    return [column for column in COLUMNS if column.title in titles]


def document(
    run: Comparison, causes: Sequence[Explained] = (), result: Result | None = None, *, verbose: bool = True
) -> Document:
    """Return tables, notes and causes of a comparison; without `verbose`, only the first of many notes."""
    notes = result.first_notes() if result else ()
    rows = ranked((row for row in run.rows if not row.judgement.same_code), causes)
    labels = labels_of(rows)
    with_notes = ranked((row for row in run.rows if row.notes or row.fullname in labels), causes)
    names = short(labels_of(with_notes))
    # Notes that explain verdicts come before those on changed code.
    by_row = [
        *((names[row.fullname], explanations(row)) for row in with_notes),
        *((names[row.fullname], notes_of(row, causes)) for row in with_notes),
    ]
    of_rows = [*merge_notes(by_row), *pooling_note((row.judgement for row in run.rows), "benchmark")]
    is_urgent = any(row.is_worse or row.judgement.verdict == "incomparable" for row in with_notes)
    lines = abridge([*of_rows, *notes] if is_urgent else [*notes, *of_rows], verbose=verbose)
    below = [*map(Note, lines), *(note for cause in causes for note in cause.notes(names))]
    if result and result.command == "ab":
        below += filter(None, (Note(result.power()) if result.power() else None, counting_command(result)))
    return [*tables(labels, COLUMNS, {row.fullname: row for row in rows}), *below]


def explanations(row: Compared) -> list[str]:
    """Return the notes on a benchmark's memory and outputs, and on why its time has no verdict."""
    time_notes, other_notes = reasons(row.judgement), (*memory_notes(row.memory), *result_notes(row.results))
    return [*time_notes, *other_notes] if row.has_different_output else [*other_notes, *time_notes]


def benchmark_notes(row: Compared, causes: Sequence[Explained] = ()) -> list[str]:
    """Return all notes on a benchmark, except those on changed code that a cause already states."""
    return [*explanations(row), *notes_of(row, causes)]
