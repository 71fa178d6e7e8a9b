"""Write results as GitHub's Markdown, for a comment or a page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .. import units
from ..compare.comparison import Compared, Comparison
from ..compare.result import Result
from ..compare.verdict import Judgement, Thresholds
from ..errors import UsageError
from . import causes, labels, memory, verdicts
from .causes import BENCHMARKS, Told, apart, notes_of
from .headline import headline
from .labels import Labels
from .markdown_text import cell, code, prose
from .names import LONGEST
from .table import grouped

MOST_CHARACTERS = 65_536
"""GitHub's limit for a comment."""
_SHORTEST = 20
"""Fewest characters of a row or a note."""
_FEW = 20
"""Up to this many rows, none is folded."""
_WIDEST = 20
"""Longest number, in characters; a longer one is shown as `?`."""
_UNBREAKABLE = str.maketrans(" -", "\N{NO-BREAK SPACE}\N{NON-BREAKING HYPHEN}")
_NAMED = 3
"""Notes shown per benchmark."""
_CHANGED = ("slower", "accepted", "faster")
_ORDER = (*_CHANGED, "undecided", "incomparable", "ignored", "same")
_COLUMNS = ("verdict", "ratio", "interval", "time")
_NUMBERS = 3
"""The last of them, which are aligned right."""


@dataclass(frozen=True)
class Section:
    """One result."""

    comparison: Comparison
    thresholds: Thresholds
    base: str
    """Description of the older side."""
    head: str
    machine: str = ""
    """GPU or processor."""
    notes: tuple[str, ...] = ()
    """Notes on the whole result."""
    source: str = ""
    """Name of the complete file."""
    causes: tuple[Told, ...] = ()
    """What slower benchmarks have in common."""


def section(found: Result) -> Section:
    """Return the section of a result."""
    first = []
    if found.shard:
        first.append(f"only a part of the benchmarks: shard {found.shard}")
    if found.interrupted:
        first.append("interrupted: benchmarks without a verdict by then are undecided")
    return Section(
        found.comparison,
        found.thresholds,
        found.base.title,
        found.head.title,
        machine=_machine(found.environment or {}),
        notes=(*first, *found.all_notes()),
        source=found.path.name,
        causes=tuple(causes.of_result(found)),
    )


def _machine(environment: Mapping[str, Any]) -> str:
    """Return the name of an environment's GPU, or of its processor."""
    gpu = environment.get("gpu")
    name = gpu.get("name") if isinstance(gpu, Mapping) else None
    return str(name or environment.get("cpu") or "")


def write(
    sections: Sequence[Section], title: str = "", details_url: str = "", most: int = MOST_CHARACTERS
) -> str:
    """Write results: a summary, a table that begins with the changed benchmarks, and folded details.

    Args:
        sections: one per result.
        title: title of the results.
        details_url: link to the full report, already checked.
        most: most characters; what does not fit is left out, with a line that says how much.

    Raises:
        UsageError: even the shortest form is too long.
    """
    parts = [_excerpt(section) for section in sections]

    def render(rows: int) -> str:
        return _render(parts, title, details_url, rows)

    high = min(max(max(len(part.rows), len(part.remarks)) for part in parts), most // _SHORTEST)
    if _size(text := render(high)) <= most:
        return text
    low = 0
    if _size(render(low)) > most:
        raise UsageError(f"{len(sections)} results do not fit into {most:,} characters; write fewer at once")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _size(render(middle)) <= most else (low, middle)
    return render(low)


@dataclass(frozen=True)
class _Excerpt:
    section: Section
    rows: list[Compared]
    """Changed benchmarks first."""
    names: Labels
    same_code: str
    """Line on the benchmarks that run the same code and have no row; empty: there are none."""
    remarks: list[str]


def _excerpt(section: Section) -> _Excerpt:
    found, same_code = verdicts.divided(section.comparison.rows)
    place = {row.fullname: number for number, one in enumerate(section.causes) for row in one.cause.rows}
    rows = sorted(found, key=lambda row: _rank(row, place.get(row.fullname, len(place))))
    names = Labels.of(labels.specs_of(rows))
    return _Excerpt(section, rows, names, same_code, _remarks(section, rows, names))


def _size(text: str) -> int:
    """Return the length in UTF-16 units, the largest of the ways to count."""
    return len(text.encode("utf-16-le")) // 2


def _render(parts: Sequence[_Excerpt], title: str, details_url: str, most: int) -> str:
    """Write at most `most` rows and `most` notes of each section."""
    together = [row for part in parts for row in part.section.comparison.rows]
    shared = [part.section.comparison.shared for part in parts if part.section.comparison.shared]
    several = len(parts) > 1
    worst = next((one for one in shared if one.verdict == "slower" or not several), None)
    lines = [_verdict(together, worst) + (f" · {prose(title)}" if title else "")]
    for part in parts:
        section = part.section
        if several:
            alike = sum(other.section.machine == section.machine for other in parts) > 1
            names = (section.machine, section.source if alike else "")
            lines += ["", f"#### {' · '.join(map(code, filter(None, names)))}"]
            lines += ["", _verdict(section.comparison.rows, section.comparison.shared)]
        lines += ["", *_section(part, details_url, most, name_machine=not several)]
    if details_url:
        lines += ["", f"[Full report]({details_url})"]
    return "\n".join(lines) + "\n"


def _verdict(rows: Sequence[Compared], shared: Judgement | None) -> str:
    """Return the summary line."""
    found = headline(rows, shared)
    return f"**{found.said}**{f': {found.others}' if found.others else ''}"


def _section(part: _Excerpt, details_url: str, most: int, *, name_machine: bool) -> list[str]:
    section, rows, remarks = part.section, part.rows, part.remarks
    kept = rows[:most]
    changed = [row for row in kept if _is_changed(row)]
    shown = kept if len(rows) <= _FEW else changed
    folded = kept[len(shown) :]
    told = section.causes[:most]
    why = [line for one in told for line in _cause(one, part.names)]
    remain = [(row, notes) for row in changed if (notes := _notes(row, told))]
    why += [f"- {_name(part.names, row)}: {_joined(notes)}" for row, notes in remain]
    place = f", on {code(section.machine)}" if section.machine and name_machine else ""
    shared = f": {code(part.names.shared)}" if part.names.shared else ""
    lines = [f"{prose(section.base)} → {prose(section.head)}{place}{shared}"]
    if shown:
        lines += ["", *_table(shown, part.names)]
    if why:
        lines += ["", *why]
    if part.same_code:
        lines += ["", f"{part.same_code}."]
    left_out = [
        units.count(number, noun)
        for number, noun in (
            (len(rows) - len(kept), "benchmark"),
            (len(remarks) - most, "note"),
        )
        if number > 0
    ]
    if left_out:
        where = (
            f"[the full report]({details_url})"
            if details_url
            else code(section.source)
            if section.source
            else ""
        )
        lines += [
            "",
            f"Left out for length: {' and '.join(left_out)}{where and f'; see {where}'}.",
        ]
    what = f"{units.count(len(folded), 'more benchmark')}, notes" if folded else "Notes"
    lines += ["", "<details>", f"<summary>{what} and how to read this</summary>", ""]
    if folded:
        lines += [*_table(folded, part.names), ""]
    return [*lines, *remarks[:most], *_key(section), "", "</details>"]


def _is_changed(row: Compared) -> bool:
    return row.judgement.verdict in _CHANGED or bool(memory.cell(row.memory))


def _notes(row: Compared, told: Sequence[Told]) -> tuple[str, ...]:
    return (*memory.notes(row.memory), *apart(row, told))


def _cause(told: Told, names: Labels) -> list[str]:
    """Write what slower benchmarks have in common, and the commands, except those that are too long."""
    which = units.listed([_name(names, row) for row in told.cause.rows], BENCHMARKS)
    commands = (
        f"  - {does}: {code(command, most=LONGEST)}"
        for does, command in told.commands
        if len(command) <= LONGEST
    )
    return [f"- {told.sentence(code)}: {which}", *commands]


def _joined(notes: Sequence[str]) -> str:
    more = f"; {len(notes) - _NAMED} more" if len(notes) > _NAMED else ""
    return "; ".join(map(prose, notes[:_NAMED])) + more


def _rank(row: Compared, cause: int) -> tuple[bool, int, int, float]:
    """Sort key: changed benchmarks first, each cause together, larger changes before smaller ones."""
    found = row.judgement
    change = abs(math.log(found.ratio)) if found.ratio and found.ratio > 0 else 0.0
    return not _is_changed(row), _ORDER.index(found.verdict), cause, -change


def _table(rows: Sequence[Compared], names: Labels) -> list[str]:
    shows_memory = any(memory.cell(row.memory) for row in rows)
    shows_effect = any(verdicts.sees(row.judgement) for row in rows)
    more = (*(("sees",) if shows_effect else ()), *(("memory",) if shows_memory else ()))
    columns = (*names.columns, *_COLUMNS, *more)
    count = _NUMBERS + len(more)
    alignments = ["---"] * (len(columns) - count) + ["---:"] * count
    lines = [f"| {' | '.join(columns)} |", f"|{'|'.join(alignments)}|"]
    for row in rows:
        time, ratio, interval, verdict = verdicts.cells(row)
        verdict = f"**{verdict}**" if verdict in _CHANGED else verdict
        effect = (verdicts.sees(row.judgement),) if shows_effect else ()
        last = (_memory(row),) if shows_memory else ()
        numbers = (*map(_number, (ratio, interval, time, *effect)), *last)
        cells = *map(cell, names.cells[row.fullname]), verdict, *numbers
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _memory(row: Compared) -> str:
    text = _number(memory.cell(row.memory))
    return f"**{text}**" if text else ""


def _name(names: Labels, row: Compared) -> str:
    """Write the name of a benchmark in a sentence."""
    return code(" ".join(names.cells[row.fullname]))


def _number(text: str) -> str:
    """Prevent line breaks within a number."""
    return text.translate(_UNBREAKABLE) if len(text) <= _WIDEST else "?"


def _remarks(section: Section, rows: Sequence[Compared], names: Labels) -> list[str]:
    """Return the folded notes: on unchanged benchmarks, what else changed in others, the whole result."""
    by_row = []
    for row in rows:
        verdict, reason = row.judgement.verdict, row.judgement.reason
        unsure = verdict in ("undecided", "incomparable")
        reasons = [reason] if unsure else verdicts.reasons(row.judgement)
        # Those of changed ones are below the table.
        above = _notes(row, section.causes) if _is_changed(row) else ()
        others = (note for note in notes_of(row, section.causes) if note not in above)
        by_row.append((_name(names, row), [prose(note) for note in (*reasons, *others) if note]))
    whole = map(prose, (*verdicts.remarks_on_all(section.comparison), *section.notes))
    return [f"- {line}" for line in chain(grouped(by_row), filter(None, whole))]


def _key(section: Section) -> list[str]:
    thresholds = section.thresholds
    family, own = units.level(thresholds.family_level), units.level(thresholds.own_level)
    effect = prose(verdicts.effect(thresholds, (row.fullname for row in section.comparison.rows)))
    return [
        f"- ratio: the second side's time divided by the first's; interval: simultaneous {family} interval",
        f"- slower, faster: the simultaneous interval excludes 1, and the change is at least {effect}",
        f"- same: the per-benchmark {own} interval lies within {effect}; undecided: neither",
        "- time: of the second side; sees: minimum detectable effect of an undecided one (power 90%)",
        "- more memory, less memory: the peak of a call beside its inputs differs by at least 1% and 64 KiB",
    ]
