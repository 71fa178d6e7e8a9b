"""Names from files of unknown origin: made safe to show, and shortened to what differs."""

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Self

from .. import units
from ..workloads.spec import BACKWARD, DIRECTIONS, FORWARD, FORWARD_BACKWARD, STEP, TRAIN, Spec

if TYPE_CHECKING:  # both import SciPy, which collecting tests does not need
    from ..compare.comparison import Compared
    from ..results.benchmark import Benchmark

SHORT_DIRECTION = {FORWARD: "fwd", FORWARD_BACKWARD: "f+b", BACKWARD: "bwd", STEP: "step", TRAIN: "train"}
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
_ID = re.compile(
    rf"\[([\w.]+)-({'|'.join(DIRECTIONS)})-(\w+)-(\w+)-(int\d+)-([^\[\]]+)-(\d{{1,9}})-(cpu|cuda)\]$",
    re.ASCII,
)


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
    for word in text.split():
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


def spec_of(fullname: str) -> Spec | None:
    """Return the spec in a test id of gnnbench's suite; None: another test id."""
    found = _ID.search(fullname)
    if not found:
        return None
    operation, direction, platform, dtype, index_dtype, dataset, hidden, device = found.groups()
    return Spec(operation, direction, platform, dtype, index_dtype, dataset, int(hidden), device)


def specs_in(ids: Iterable[str]) -> dict[str, Spec | None]:
    """Return the spec in each test id."""
    return {name: spec_of(name) for name in ids}


def inputs(spec: Spec) -> tuple[str, ...]:
    """Return a spec's graph, width, types and device."""
    return spec.dataset, f"hidden {spec.hidden}", spec.dtype, spec.index_dtype, spec.device


def heading(spec: Spec) -> str:
    """Return the heading of a spec's table."""
    return " · ".join(inputs(spec))


def titles(names: Sequence[str], specs: Sequence[Spec | None]) -> tuple[list[tuple[str, str]], str]:
    """Return title and context of each benchmark, and what all have in common."""
    place = shared_place([name for name, spec in zip(names, specs, strict=True) if not spec])
    shared, contexts = _divided([(spec.platform, *inputs(spec)) for spec in specs if spec])
    context = iter(contexts)
    found = [
        (clean(f"{spec.operation} {SHORT_DIRECTION[spec.direction]}"), clean(next(context)))
        if spec
        else (clean(name.removeprefix(place)), "")
        for name, spec in zip(names, specs, strict=True)
    ]
    return found, clean(" · ".join([*shared, *([place.rstrip(":/")] if place else [])]))


def _divided(rows: Sequence[tuple[str, ...]]) -> tuple[list[str], list[str]]:
    """Return the values that all rows have in common, and the others of each row as a text."""
    differs = [len(set(values)) > 1 for values in zip(*rows, strict=True)]
    shared = [value for value, own in zip(rows[0], differs, strict=True) if not own] if rows else []
    return shared, [" · ".join(compress(row, differs)) for row in rows]


@dataclass(frozen=True)
class Labels:
    """The names of benchmarks in one table."""

    columns: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]
    """One per column, by the benchmark's fullname; as they are in the file, so possibly with escapes."""
    shared: str
    """Graph, width, types and device of all; if names are ids, the folder or file that all begin with."""

    @classmethod
    def of(cls, specs: Mapping[str, Spec | None]) -> Self:
        """Choose the columns: ids if a benchmark has no spec, or if two differ in their ids only."""
        own = {name: spec for name, spec in specs.items() if spec}
        shared, others = _divided([inputs(spec) for spec in own.values()])
        cells = {
            name: (spec.operation, SHORT_DIRECTION[spec.direction], spec.platform, *filter(None, [other]))
            for (name, spec), other in zip(own.items(), others, strict=True)
        }
        if cells and len(set(cells.values())) == len(specs):
            columns = ("operation", "dir", "on", *(("input",) if others[0] else ()))
            return cls(columns, cells, " · ".join(shared))
        place = shared_place(list(specs))
        return cls(("benchmark",), {name: (name.removeprefix(place),) for name in specs}, place)


def groups(specs: Mapping[str, Spec | None]) -> list[Labels]:
    """Return the names of each table: one for each graph, width, types and device, and one for ids."""
    found: dict[tuple[str, ...], dict[str, Spec | None]] = {}
    for name, spec in specs.items():
        found.setdefault(inputs(spec) if spec else (), {})[name] = spec
    return [Labels.of(group) for group in found.values()]


def short(specs: Mapping[str, Spec | None]) -> dict[str, str]:
    """Return the name of each benchmark in a sentence, by fullname: `spmm_sum f+b pyg`."""
    own = {name: spec for name, spec in specs.items() if spec}
    others = {name: spec for name, spec in specs.items() if not spec}
    return {
        name: clean(" ".join(cells))
        for part in (own, others)
        for name, cells in Labels.of(part).cells.items()
    }


def specs_of(benchmarks: "Iterable[Compared | Benchmark]") -> dict[str, Spec | None]:
    """Return the spec of each benchmark by fullname: the saved one, or that in its id."""
    return {one.fullname: one.spec or spec_of(one.fullname) for one in benchmarks}


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
