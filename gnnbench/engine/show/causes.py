"""What slower benchmarks have in common, in words, and the commands that go on from there."""

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
"""Functions or counters that are named."""
BENCHMARKS = 8
"""Benchmarks that are named."""

_ORDER = (*CHANGED, "undecided", "incomparable", "ignored", "same")


@dataclass(frozen=True)
class Explained:
    """A cause in words."""

    cause: Cause
    commands: tuple[Note, ...]

    def sentence(self, write: Callable[[str], str] = str) -> str:
        """Return the cause, its names as `write` makes them: `6 slower with a change in gcn_norm`."""
        cause, count = self.cause, len(self.cause.rows)
        counters = units.listed([write(one) for one in cause.counters], _MOST_PARTS)
        if cause.kind == "counters":
            return f"{count} slower with {counters}"
        names = short_names(cause.names) if cause.kind == "functions" else cause.names
        parts = [write(one) for one in names]
        if cause.kind == "functions":
            parts = [run_by(*one) for one in zip(parts, map(cause.side_of, cause.names), strict=True)]
        what = FRAMES[cause.kind].format(units.listed(parts, _MOST_PARTS))
        text = f"{count} slower with {'a change in ' if cause.kind == 'functions' else ''}{what}"
        if counters:
            text += f"{', each with' if count > 1 else ' and'} {counters}"
        if cause.not_slower:
            text += f"; also changed in {units.count(cause.not_slower, 'benchmark')} not slower"
        return text

    @cached_property
    def fullnames(self) -> frozenset[str]:
        """The benchmarks."""
        return frozenset(row.fullname for row in self.cause.rows)

    def notes(self, names: Mapping[str, str]) -> list[Note]:
        """Return the lines for a terminal."""
        which = units.listed([names[row.fullname] for row in self.cause.rows], BENCHMARKS)
        return [
            Note(f"{self.sentence()}: {which}"),
            *(Note(f"  {note.text}", note.command) for note in self.commands),
        ]


def of_result(found: Result) -> list[Explained]:
    """Return the causes to show of a result, those of most benchmarks first."""
    return [
        Explained(one, _commands([row.fullname for row in one.rows], found.repeat))
        for one in causes.causes(found.rows)[:_MOST_CAUSES]
    ]


def counting(found: Result) -> Note | None:
    """Return the command that tells more of undecided benchmarks. Returns None if no command does."""
    undecided = [row for row in found.rows if row.judgement.verdict == "undecided"]
    names = [row.fullname for row in undecided if not row.work.instructions]
    if not names or not found.repeat:
        return None
    how = replace(found.repeat, options=(*found.repeat.options, "--instructions"))
    which = units.count(len(names), "undecided benchmark")
    what = f"count the instructions of {which}, to see whether they differ"
    return Note(what, how.commands(names).ab)


def notes_of(row: Compared, shown: Iterable[Explained]) -> list[str]:
    """Return the notes on a benchmark, without those that its cause says."""
    said = any(row.fullname in one.fullnames and one.cause.tells_all(row) for one in shown)
    return [note for note in row.notes if not said or note not in row.work.notes()]


def ranked(rows: Iterable[Compared], shown: Sequence[Explained]) -> list[Compared]:
    """Return what fails first, then other changes, those of a cause together, larger before smaller ones."""
    place = {name: number for number, one in enumerate(shown) for name in one.fullnames}

    def rank(row: Compared) -> tuple[bool, bool, int, int, float]:
        found = row.judgement
        change = abs(math.log(found.ratio)) if found.ratio and found.ratio > 0 else 0.0
        order = _ORDER.index(found.verdict), place.get(row.fullname, len(place))
        return not row.is_worse, not is_changed(row), *order, -change

    return sorted(rows, key=rank)


def _commands(names: Sequence[str], how: Repeat | None) -> tuple[Note, ...]:
    if how is None:
        return ()
    found = how.commands(names)
    commands = [Note("repeat", found.ab)]
    if found.bisect and how.ends:
        what = "release" if how.ends[0].startswith("pip:") else "commit"
        commands.append(Note(f"find the {what}", found.bisect))
    return tuple(commands)
