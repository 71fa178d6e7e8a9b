"""Writes the causes of slowdowns as sentences, with commands to investigate further; sorts benchmarks."""

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
"""Most functions or counters that a cause names."""
BENCHMARKS = 8
"""Most benchmarks that a cause names."""

_ORDER = (*CHANGED, "undecided", "incomparable", "ignored", "same")


@dataclass(frozen=True)
class Explained:
    """A cause, with the commands to investigate it."""

    cause: Cause
    commands: tuple[Note, ...]

    def sentence(self, write: Callable[[str], str] = str) -> str:
        """Write the cause: `6 slower with a change in gcn_norm`; `write` formats names."""
        cause, count = self.cause, len(self.cause.rows)
        counters = units.listed([write(counter) for counter in cause.counters], _MOST_PARTS)
        if cause.kind == "counters":
            return f"{count} slower with {counters}"
        names = short_names(cause.names) if cause.kind == "functions" else cause.names
        parts = [write(name) for name in names]
        if cause.kind == "functions":
            parts = [run_by(*pair) for pair in zip(parts, map(cause.side_of, cause.names), strict=True)]
        changes = FRAMES[cause.kind].format(units.listed(parts, _MOST_PARTS))
        text = f"{count} slower with {'a change in ' if cause.kind == 'functions' else ''}{changes}"
        if counters:
            text += f"{', each with' if count > 1 else ' and'} {counters}"
        if cause.not_slower:
            text += f"; also changed in {units.count(cause.not_slower, 'benchmark')} without a slowdown"
        return text

    @cached_property
    def fullnames(self) -> frozenset[str]:
        """The ids of the benchmarks."""
        return frozenset(row.fullname for row in self.cause.rows)

    def notes(self, names: Mapping[str, str]) -> list[Note]:
        """Return the cause and its commands as lines for a terminal; `names`: short names by fullname."""
        benchmarks = units.listed([names[row.fullname] for row in self.cause.rows], BENCHMARKS)
        return [
            Note(f"{self.sentence()}: {benchmarks}"),
            *(Note(f"  {note.text}", note.command) for note in self.commands),
        ]


def of_result(result: Result) -> list[Explained]:
    """Return at most five causes of a result; those of the most benchmarks come first."""
    return [
        Explained(cause, _commands([row.fullname for row in cause.rows], result.repeat))
        for cause in causes.causes(result.rows)[:_MOST_CAUSES]
    ]


def counting_command(result: Result) -> Note | None:
    """Return the command that counts the instructions of undecided benchmarks, or None."""
    undecided = [row for row in result.rows if row.judgement.verdict == "undecided"]
    names = [row.fullname for row in undecided if not row.work.instructions]
    if not names or not result.repeat:
        return None
    repeat = replace(result.repeat, options=(*result.repeat.options, "--instructions"))
    benchmarks = units.count(len(names), "undecided benchmark")
    purpose = f"count the instructions of {benchmarks}, to see whether they differ"
    return Note(purpose, repeat.commands(names).ab)


def notes_of(row: Compared, explained: Iterable[Explained]) -> list[str]:
    """Return the notes on a benchmark, without notes on code and counters that a cause repeats in full."""
    is_explained = any(row.fullname in item.fullnames and item.cause.covers(row) for item in explained)
    return [note for note in row.notes if not is_explained or note not in row.work.notes()]


def ranked(rows: Iterable[Compared], explained: Sequence[Explained]) -> list[Compared]:
    """Sort benchmarks: different outputs, other failures, other changes, the rest; then by cause and size."""
    causes = {name: number for number, explanation in enumerate(explained) for name in explanation.fullnames}

    def rank(row: Compared) -> tuple[bool, bool, bool, int, int, float]:
        judgement = row.judgement
        change = abs(math.log(judgement.ratio)) if judgement.ratio and judgement.ratio > 0 else 0.0
        order = _ORDER.index(judgement.verdict), causes.get(row.fullname, len(causes))
        return not row.has_other_result, not row.is_worse, not is_changed(row), *order, -change

    return sorted(rows, key=rank)


def _commands(names: Sequence[str], repeat: Repeat | None) -> tuple[Note, ...]:
    """Return the commands that time benchmarks again, and find the commit or release that changed them."""
    if repeat is None:
        return ()
    command = repeat.commands(names)
    commands = [Note("repeat", command.ab)]
    if command.bisect and repeat.ends:
        kind = "release" if repeat.ends[0].startswith("pip:") else "commit"
        commands.append(Note(f"find the {kind}", command.bisect))
    return tuple(commands)
