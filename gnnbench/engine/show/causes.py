"""Describes the causes of slowdowns, with commands that investigate them; sorts the rows of tables."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..drive.repeat import Repeat
from ..drive.result import Result
from ..ground import units
from ..judge import causes
from ..judge.causes import Cause
from ..judge.comparison import Compared
from ..measure.fingerprint.difference import FRAMES, run_by, short_names
from .lines import Note
from .wording import CHANGED, is_changed

_MOST_CAUSES = 5
_MOST_PARTS = 3
"""Maximum number of functions or counters that the sentence on a cause names."""
BENCHMARKS = 8
"""Maximum number of benchmarks that the note on a cause names."""

_ORDER = (*CHANGED, "undecided", "incomparable", "ignored", "same")


@dataclass(frozen=True)
class Explained:
    """A cause, with commands that investigate it."""

    cause: Cause
    commands: tuple[Note, ...]

    def sentence(self, write: Callable[[str], str] = str) -> str:
        """Return the cause in words: `6 slower with changed code in gcn_norm`. `write` formats names."""
        cause, count = self.cause, len(self.cause.rows)
        counters = units.listed([write(counter) for counter in cause.counters], _MOST_PARTS)
        if cause.kind == "counters":
            return f"{count} slower with {counters}"
        names = short_names(cause.names) if cause.kind == "functions" else cause.names
        parts = [write(name) for name in names]
        if cause.kind == "functions":
            parts = list(map(run_by, parts, map(cause.side_of, cause.names)))
        changes = FRAMES[cause.kind].format(units.listed(parts, _MOST_PARTS))
        text = f"{count} slower with {'changed code in ' if cause.kind == 'functions' else ''}{changes}"
        if counters:
            text += f"{', each with' if count > 1 else ' and'} {counters}"
        if cause.not_slower:
            text += f"; also changed in {units.count(cause.not_slower, 'benchmark')} without a slowdown"
        return text

    @cached_property
    def fullnames(self) -> frozenset[str]:
        """The test ids of the slower benchmarks."""
        return frozenset(row.fullname for row in self.cause.rows)

    def notes(self, names: Mapping[str, str]) -> list[Note]:
        """Return the cause and its commands, each as a line; `names` has the short names by fullname."""
        benchmarks = units.listed([names[row.fullname] for row in self.cause.rows], BENCHMARKS)
        return [
            Note(f"{self.sentence()}: {benchmarks}"),
            *(Note(f"  {note.text}", note.command) for note in self.commands),
        ]


def of_result(result: Result) -> list[Explained]:
    """Return the causes of a result's slowdowns: at most five, those with the most benchmarks first."""
    return [
        Explained(cause, _commands([row.fullname for row in cause.rows], result.repeat))
        for cause in causes.causes(result.rows)[:_MOST_CAUSES]
    ]


def counting_command(result: Result) -> Note | None:
    """Return the command that counts the instructions of undecided benchmarks, or None if there are none."""
    undecided = [row for row in result.rows if row.judgement.verdict == "undecided"]
    uncounted = [row.fullname for row in undecided if not row.work.instructions]
    if not uncounted or not result.repeat:
        return None
    repeat = replace(result.repeat, options=(*result.repeat.options, "--instructions"))
    benchmarks = units.count(len(uncounted), "undecided benchmark")
    purpose = f"count the instructions of {benchmarks}, to see whether they differ"
    return Note(purpose, repeat.commands(uncounted).ab)


def notes_of(row: Compared, explained: Iterable[Explained]) -> list[str]:
    """Return a benchmark's notes. Notes on code and counters are left out if a cause states all of them."""
    is_explained = any(row.fullname in each.fullnames and each.cause.covers(row) for each in explained)
    return [note for note in row.notes if not is_explained or note not in row.work.notes()]


def ranked(rows: Iterable[Compared], explained: Sequence[Explained]) -> list[Compared]:
    """Sort benchmarks: different outputs first, then failures, changes, the rest; then by cause and ratio."""
    cause_numbers = {name: number for number, each in enumerate(explained) for name in each.fullnames}

    def rank(row: Compared) -> tuple[bool, bool, bool, int, int, float]:
        judgement = row.judgement
        change = abs(math.log(judgement.ratio)) if judgement.ratio and judgement.ratio > 0 else 0.0
        order = _ORDER.index(judgement.verdict), cause_numbers.get(row.fullname, len(cause_numbers))
        return not row.has_different_output, not row.is_worse, not is_changed(row), *order, -change

    return sorted(rows, key=rank)


def _commands(names: Sequence[str], repeat: Repeat | None) -> tuple[Note, ...]:
    """Return commands: to time benchmarks again, and to find the commit or release that changed them."""
    if repeat is None:
        return ()
    commands = repeat.commands(names)
    notes = [Note("repeat", commands.ab)]
    if commands.bisect and repeat.ends:
        kind = "release" if repeat.ends[0].startswith("pip:") else "commit"
        notes.append(Note(f"find the {kind}", commands.bisect))
    return tuple(notes)
