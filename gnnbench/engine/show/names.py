"""Names from files of unknown origin: made safe to show, and shortened to what differs."""

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Self

from ..ground import units
from ..ground.labels import Labels
from ..store import suite

if TYPE_CHECKING:  # both import SciPy, which collecting tests does not need
    from ..judge.comparison import Compared
    from ..store.benchmark import Benchmark

_LONGEST = 300
"""Most characters of a name."""
LONGEST = 2000
"""Most characters of a text or command in a page or comment."""
_MOST_LINES = 3
"""Most lines of a wrapped name."""
_PART = re.compile(r"[^/:_,.\-\[]*[/:_,.\-\[]*")
"""A part of a long word, which may end a line."""
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories that control a terminal or the direction of text, or are no characters."""
_NAMED = 4
"""A note names at most this many benchmarks; otherwise it has their number."""


def clean(value: object, longest: int = _LONGEST) -> str:
    """Return a text of at most `longest` characters, with invisible characters replaced."""
    text = str(value)
    if len(text) > longest:
        text = f"{text[: longest - 1]}…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        " " if one in "\n\t" else "\ufffd" if unicodedata.category(one) in _HIDDEN else one for one in text
    )


def in_lines(text: str, letters: int) -> list[str]:
    """Return a name in lines: broken at spaces, within a long word at punctuation.

    A name that is too long keeps its beginning and its end.
    """
    lines = [""]
    for word in filter(None, text.split(" ")):
        parts = [word] if len(word) <= letters else _PART.findall(word)
        parts = [part[start : start + letters] for part in parts for start in range(0, len(part), letters)]
        for number, part in enumerate(parts):
            space = " " if lines[-1] and not number else ""
            if lines[-1] and len(lines[-1] + space + part) > letters:
                lines.append(part)
            else:
                lines[-1] += space + part
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"…{text[1 - letters :]}"]
    return [line.removesuffix(" ·") for line in lines]


def labels_in(ids: Iterable[str]) -> dict[str, Labels | None]:
    """Return the labels in each test id."""
    installed = suite.installed()
    return {name: installed.labels_in(name) for name in ids}


def titles(names: Sequence[str], labels: Sequence[Labels | None]) -> tuple[list[tuple[str, str]], str]:
    """Return title and context of each benchmark, and what all have in common."""
    place = shared_place([name for name, known in zip(names, labels, strict=True) if not known])
    shared, contexts = _divided([(known.platform, *known.inputs.values()) for known in labels if known])
    context = iter(contexts)
    titled = [
        (clean(known.subject), clean(next(context))) if known else (clean(name.removeprefix(place)), "")
        for name, known in zip(names, labels, strict=True)
    ]
    return titled, clean(" · ".join([*shared, *([place.rstrip(":/")] if place else [])]))


def _divided(rows: Sequence[tuple[str, ...]]) -> tuple[list[str], list[str]]:
    """Return the values that all rows have in common, and the others of each row as a text."""
    differs = [len(set(values)) > 1 for values in zip(*rows, strict=True)]
    shared = [value for value, own in zip(rows[0], differs, strict=True) if not own] if rows else []
    return shared, [" · ".join(compress(row, differs)) for row in rows]


@dataclass(frozen=True)
class Names:
    """The names of benchmarks in one table."""

    columns: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]
    """One per column, by the benchmark's fullname; as they are in the file, so possibly with escapes."""
    shared: str
    """The inputs of all; if names are ids, the folder or file that all begin with."""

    @classmethod
    def of(cls, labels: Mapping[str, Labels | None]) -> Self:
        """Choose the columns: ids if a benchmark has no labels, or if two differ in their ids only."""
        labelled = {name: known for name, known in labels.items() if known}
        shared, others = _divided([tuple(known.inputs.values()) for known in labelled.values()])
        cells = {
            name: (known.operation, known.direction, known.platform, *filter(None, [other]))
            for (name, known), other in zip(labelled.items(), others, strict=True)
        }
        if cells and len(set(cells.values())) == len(labels):
            columns = ("operation", "dir", "on", *(("input",) if others[0] else ()))
            return cls(columns, cells, " · ".join(shared))
        place = shared_place(list(labels))
        return cls(("benchmark",), {name: (name.removeprefix(place),) for name in labels}, place)


def groups(labels: Mapping[str, Labels | None]) -> list[Names]:
    """Return the names of each table: one for each heading, and one for ids."""
    tables: dict[str, dict[str, Labels | None]] = {}
    for name, known in labels.items():
        tables.setdefault(known.heading if known else "", {})[name] = known
    return [Names.of(table) for table in tables.values()]


def short(labels: Mapping[str, Labels | None]) -> dict[str, str]:
    """Return the name of each benchmark in a sentence, by fullname: `spmm_sum f+b pyg`."""
    labelled = {name: known for name, known in labels.items() if known}
    others = {name: known for name, known in labels.items() if not known}
    return {
        name: clean(" ".join(cells))
        for part in (labelled, others)
        for name, cells in Names.of(part).cells.items()
    }


def labels_of(benchmarks: "Iterable[Compared | Benchmark]") -> dict[str, Labels | None]:
    """Return the labels of each benchmark by fullname: the saved ones, or those in its id."""
    installed = suite.installed()
    return {row.fullname: row.labels or installed.labels_in(row.fullname) for row in benchmarks}


def grouped(
    remarks: Iterable[tuple[str, Sequence[str]]], benchmarks: int | None = None, hint: str | None = ""
) -> list[str]:
    """Return each remark once, with the names or the number of its benchmarks.

    Args:
        benchmarks: their number; remarks on all of them have "all benchmarks" instead of names.
        hint: what follows the number of many; None: these are named too.
    """
    found: dict[str, list[str]] = {}
    for name, notes in remarks:
        for note in notes:
            found.setdefault(note, []).append(name)
    return [f"{note}: {_subjects(names, benchmarks, hint)}" for note, names in found.items()]


def _subjects(names: Sequence[str], benchmarks: int | None, hint: str | None) -> str:
    if len(names) == benchmarks and benchmarks > 1:
        return "all benchmarks"
    if hint is None or len(names) <= _NAMED:
        return ", ".join(dict.fromkeys(names))
    return f"{units.count(len(names), 'benchmark')}{hint}"


def shared_place(names: Sequence[str]) -> str:
    """Return the folder, file or class that all names begin with; something of each name is left."""
    common = os.path.commonprefix([name[:-1] for name in names])  # noqa: RUF071 - "::" separates too
    common = common.partition("[")[0]  # parameters may hold anything
    return common[: max(common.rfind("/") + 1, common.rfind("::") + 2 if "::" in common else 0)]
