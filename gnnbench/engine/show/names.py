"""Shortens the names of benchmarks to the parts that differ, and replaces unprintable characters."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any, Self

from ..ground import units
from ..ground.errors import one_line
from ..ground.labels import Labels
from ..store import suite
from .lines import wrapped

if TYPE_CHECKING:  # both import SciPy, which collecting tests does not need
    from ..judge.comparison import Compared
    from ..store.run_file import Benchmark

_SPACES = str.maketrans("\n\t", "  ")
_LONGEST = 300
"""Maximum length of a name, in characters."""
LONGEST = 2000
"""Maximum length of a text or command in a page or comment, in characters."""
_MOST_LINES = 3
"""Maximum number of lines of a wrapped name."""
_MOST_NOTES = 2
"""Without -v, up to this many notes are all printed. If there are more, only the first is printed."""
_NAMED = 4
"""A note names up to this many benchmarks. If there are more, it states their number instead."""


def clean(value: object, longest: int = _LONGEST) -> str:
    """Return a value as one line of at most `longest` characters, with unprintable characters replaced."""
    text = str(value)
    return one_line((text if len(text) <= longest else f"{text[: longest - 1]}…").translate(_SPACES))


def clean_all(value: Any, longest: int = _LONGEST) -> Any:
    """Return nested lists and mappings with all texts in them cleaned; line breaks are kept."""
    if isinstance(value, Mapping):
        return {name: clean_all(each, longest) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [clean_all(each, longest) for each in value]
    return "\n".join(clean(line, longest) for line in value.split("\n")) if isinstance(value, str) else value


def break_name(text: str, letters: int) -> list[str]:
    """Break a name into at most three lines; in a longer name, `…` replaces the part before the last line."""
    lines = wrapped(text, letters, "").split("\n")
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"…{text[1 - letters :]}"]
    return [line.removesuffix(" ·") for line in lines]


def labels_in(ids: Iterable[str]) -> dict[str, Labels | None]:
    """Return the labels that each test id contains. None for a test id without labels."""
    installed = suite.installed()
    return {name: installed.labels_in(name) for name in ids}


@dataclass(frozen=True)
class Names:
    """The names of benchmarks in one table."""

    columns: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]
    """One text per column, by the benchmark's fullname; not cleaned yet."""
    shared: str
    """The inputs that all benchmarks share; if the names are test ids, the folder or file that all share."""

    @classmethod
    def of(cls, labels: Mapping[str, Labels | None]) -> Self:
        """Make names from labels, or from test ids if a benchmark has no labels or two have the same ones."""
        labelled = {name: label for name, label in labels.items() if label}
        inputs = [tuple(label.inputs.values()) for label in labelled.values()]
        differs = [len(set(values)) > 1 for values in zip(*inputs, strict=True)]
        suffixes = [" · ".join(compress(values, differs)) for values in inputs]
        cells = {
            name: (label.operation, label.direction, label.platform, *filter(None, [suffix]))
            for (name, label), suffix in zip(labelled.items(), suffixes, strict=True)
        }
        if cells and len(set(cells.values())) == len(labels):
            columns = ("operation", "dir", "on", *(("input",) if suffixes[0] else ()))
            return cls(columns, cells, " · ".join(compress(inputs[0], [not flag for flag in differs])))
        prefix = shared_prefix(list(labels))
        return cls(("benchmark",), {name: (name.removeprefix(prefix),) for name in labels}, prefix)


def names_by_table(labels: Mapping[str, Labels | None]) -> list[Names]:
    tables: dict[str, dict[str, Labels | None]] = {}
    for name, label in labels.items():
        tables.setdefault(label.heading if label else "", {})[name] = label
    return [Names.of(table) for table in tables.values()]


def short_and_shared(labels: Mapping[str, Labels | None]) -> tuple[dict[str, str], str]:
    """Return short names for sentences, such as `spmm_sum f+b pyg`, and what all names have in common."""
    labelled = {name: label for name, label in labels.items() if label}
    unlabelled = {name: label for name, label in labels.items() if not label}
    parts = [Names.of(part) for part in (labelled, unlabelled) if part]
    texts = {name: clean(" ".join(cells)) for names in parts for name, cells in names.cells.items()}
    return texts, clean(" · ".join(filter(None, (names.shared.rstrip(":/") for names in parts))))


def short(labels: Mapping[str, Labels | None]) -> dict[str, str]:
    return short_and_shared(labels)[0]


def labels_of(benchmarks: "Iterable[Compared | Benchmark]") -> dict[str, Labels | None]:
    """Return the labels of each benchmark by fullname: those in its file, or else those in its test id."""
    installed = suite.installed()
    return {row.fullname: row.labels or installed.labels_in(row.fullname) for row in benchmarks}


def merge_notes(
    by_benchmark: Iterable[tuple[str, Sequence[str]]], benchmarks: int | None = None, hint: str | None = ""
) -> list[str]:
    """Return each distinct note once, with the names or the number of the benchmarks that have it.

    Args:
        by_benchmark: pairs of a benchmark's short name and its notes.
        benchmarks: the number of all benchmarks; a note that all of them have says `all benchmarks`.
        hint: a text to put after the number, if a note has too many benchmarks to name; None to name all.
    """
    subjects: dict[str, list[str]] = {}
    for name, notes in by_benchmark:
        for note in notes:
            subjects.setdefault(note, []).append(name)
    return [f"{note}: {_subjects(names, benchmarks, hint)}" for note, names in subjects.items()]


def abridge(notes: Sequence[str], *, verbose: bool) -> list[str]:
    """Return all notes if there are few, or if `verbose`; otherwise the first, and how many others exist."""
    if verbose or len(notes) <= _MOST_NOTES:
        return list(notes)
    return [f"{notes[0]}; {len(notes) - 1} more notes: -v prints them"]


def _subjects(names: Sequence[str], benchmarks: int | None, hint: str | None) -> str:
    """Return which benchmarks have a note: `all benchmarks`, their names, or their number."""
    if len(names) == benchmarks and benchmarks > 1:
        return "all benchmarks"
    if hint is None or len(names) <= _NAMED:
        return ", ".join(dict.fromkeys(names))
    return f"{units.count(len(names), 'benchmark')}{hint}"


def shared_prefix(names: Sequence[str]) -> str:
    """Return the folder, file or class that all test ids begin with. Empty if there is none."""
    common = os.path.commonprefix([name[:-1] for name in names])  # noqa: RUF071 - "::" separates too
    common = common.partition("[")[0]  # parameters may contain "/" and "::"
    return common[: max(common.rfind("/") + 1, common.rfind("::") + 2 if "::" in common else 0)]
