"""Results as GitHub's Markdown: for a pull request's comment, or a page."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .. import units
from ..compare.result_file import ResultFile
from ..compare.runs import Compared, Comparison
from ..compare.verdict import Thresholds
from ..errors import UsageError
from . import verdicts
from .markdown_text import code, prose
from .table import grouped

MOST_CHARACTERS = 65_536
"""That GitHub takes in a comment."""
_SHORTEST = 20
"""Characters of a row or a note: fewer has none."""
_FEW = 20
"""Rows that are all shown unfolded."""
_WIDEST = 20
"""Characters of a number that somebody measured."""
_UNBREAKABLE = str.maketrans(" -", "\N{NO-BREAK SPACE}\N{NON-BREAKING HYPHEN}")
_NAMED = 3
"""Notes of a benchmark."""
_MOVED = ("slower", "faster")
_ORDER = (*_MOVED, "undecided", "incomparable", "same")
_HEADER = (
    "| benchmark | verdict | ratio | interval | time | sees |",
    "|---|---|---:|---:|---:|---:|",
)


@dataclass(frozen=True)
class Section:
    """One result."""

    comparison: Comparison
    thresholds: Thresholds
    base: str
    """What the older side was, in words."""
    head: str
    machine: str = ""
    """That it was measured on."""
    notes: tuple[str, ...] = ()
    """What must be known of the whole."""
    source: str = ""
    """File that has all of it."""


def section(found: ResultFile, notes: Sequence[str] = ()) -> Section:
    """Return what is written of a result.

    Args:
        found: the result.
        notes: what must be known of the whole besides what the result says itself.
    """
    first = []
    if found.shard:
        first.append(f"a part of the benchmarks alone, shard {found.shard}")
    if found.interrupted:
        first.append("interrupted: this is what was known by then")
    return Section(
        found.comparison,
        found.thresholds,
        found.base,
        found.head,
        machine=_machine(found.environment or {}),
        notes=(*first, *found.notes, *notes),
        source=found.path.name,
    )


def _machine(environment: Mapping[str, Any]) -> str:
    """Return the name of an environment's GPU, or of its processor."""
    gpu = environment.get("gpu")
    name = gpu.get("name") if isinstance(gpu, Mapping) else None
    return str(name or environment.get("cpu") or "")


def write(
    sections: Sequence[Section], title: str = "", details_url: str = "", most: int = MOST_CHARACTERS
) -> str:
    """Write results: the verdict, a table with what moved first, and the rest folded.

    Args:
        sections: a result each.
        title: what was measured.
        details_url: of a page with all of it; it must be safe to be put in.
        most: characters that it may have. What does not fit is counted, and where it is said.

    Raises:
        UsageError: there are too many results for so many characters.
    """
    parts = [
        _Excerpt(section, sorted(section.comparison.rows, key=_rank), _remarks(section))
        for section in sections
    ]

    def render(rows: int) -> str:
        return _render(parts, title, details_url, rows)

    high = min(max(max(len(part.rows), len(part.remarks)) for part in parts), most // _SHORTEST)
    if _size(text := render(high)) <= most:
        return text
    low = 0
    if _size(render(low)) > most:
        raise UsageError(f"{len(sections)} results are too many for {most:,} characters; write fewer at once")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _size(render(middle)) <= most else (low, middle)
    return render(low)


@dataclass(frozen=True)
class _Excerpt:
    """A section, with what is taken from it as far as there is room."""

    section: Section
    rows: list[Compared]
    """What moved first."""
    remarks: list[str]


def _size(text: str) -> int:
    """Return the length of a text where most is counted: in units of UTF-16."""
    return len(text.encode("utf-16-le")) // 2


def _render(parts: Sequence[_Excerpt], title: str, details_url: str, most: int) -> str:
    """Write at most so many rows, and so many notes, of each section."""
    together = [row for part in parts for row in part.rows]
    shared = [part.section.comparison.shared for part in parts if part.section.comparison.shared]
    slower = any(judgement.verdict == "slower" for judgement in shared)
    lines = [_verdict(together, shared_slower=slower) + (f" · {prose(title)}" if title else "")]
    several = len(parts) > 1
    for part in parts:
        section = part.section
        if several:
            own = section.comparison.shared
            is_slower = own is not None and own.verdict == "slower"
            alike = sum(other.section.machine == section.machine for other in parts) > 1
            names = (section.machine, section.source if alike else "")
            lines += ["", f"#### {' · '.join(map(code, filter(None, names)))}"]
            lines += ["", _verdict(part.rows, shared_slower=is_slower)]
        lines += ["", *_section(part, details_url, most, name_machine=not several)]
    if details_url:
        lines += ["", f"[All of it]({details_url})"]
    return "\n".join(lines) + "\n"


def _verdict(rows: Sequence[Compared], *, shared_slower: bool) -> str:
    """Say in a line how many benchmarks got slower, and what became of the others."""
    counts: Counter[str] = Counter(row.judgement.verdict for row in rows)
    if not rows:
        return "**There is no benchmark**"
    if counts["slower"]:
        said = f"{counts['slower']} of {_benchmarks(len(rows))} got slower"
    elif counts["incomparable"] == len(rows):
        said = f"None of {_benchmarks(len(rows))} could be judged"
    elif counts["undecided"]:
        said = f"None of {_benchmarks(len(rows))} is known to have got slower"
    else:
        said = f"None of {_benchmarks(len(rows))} got slower"
    if shared_slower:
        said += ", and the run as a whole did"
    others = ", ".join(f"{counts[name]} {name}" for name in _ORDER[1:] if counts[name])
    return f"**{said}**{f': {others}' if others else ''}"


def _benchmarks(number: int) -> str:
    return "1 benchmark" if number == 1 else f"{number} benchmarks"


def _section(part: _Excerpt, details_url: str, most: int, *, name_machine: bool) -> list[str]:
    section, rows, remarks = part.section, part.rows, part.remarks
    kept = rows[:most]
    moved = [row for row in kept if row.judgement.verdict in _MOVED]
    shown = kept if len(rows) <= _FEW else moved
    folded = kept[len(shown) :]
    why = [f"- {code(row.fullname)}: {_joined(row.notes)}" for row in moved if row.notes]
    place = f", on {code(section.machine)}" if section.machine and name_machine else ""
    lines = [f"{prose(section.base)} → {prose(section.head)}{place}"]
    if shown:
        lines += ["", *_table(shown)]
    if why:
        lines += ["", *why]
    left_out = [
        text
        for number, text in (
            (len(rows) - len(kept), _benchmarks(len(rows) - len(kept))),
            (len(remarks) - most, f"{len(remarks) - most} notes"),
        )
        if number > 0
    ]
    if left_out:
        where = (
            f"[all of it]({details_url})" if details_url else code(section.source) if section.source else ""
        )
        lines += ["", f"Left out for want of room: {' and '.join(left_out)}{where and f'; see {where}'}."]
    what = f"{_benchmarks(len(folded))} more, notes" if folded else "Notes"
    lines += ["", "<details>", f"<summary>{what} and how to read this</summary>", ""]
    if folded:
        lines += [*_table(folded), ""]
    return [*lines, *remarks[:most], *_key(section.thresholds), "", "</details>"]


def _joined(notes: Sequence[str]) -> str:
    more = f"; {len(notes) - _NAMED} more" if len(notes) > _NAMED else ""
    return "; ".join(map(prose, notes[:_NAMED])) + more


def _rank(row: Compared) -> tuple[int, float]:
    """Sort what moved first, the largest change before the others."""
    found = row.judgement
    change = abs(math.log(found.ratio)) if found.ratio and found.ratio > 0 else 0.0
    return _ORDER.index(found.verdict), -change


def _table(rows: Sequence[Compared]) -> list[str]:
    lines = list(_HEADER)
    for row in rows:
        time, ratio, interval, verdict, sees = verdicts.cells(row)
        verdict = f"**{verdict}**" if verdict in _MOVED else verdict
        numbers = (_number(text) for text in (ratio, interval, time, sees))
        cells = code(row.fullname, in_table=True), verdict, *numbers
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _number(text: str) -> str:
    """Keep a number on one line, beside names that are broken."""
    return text.translate(_UNBREAKABLE) if len(text) <= _WIDEST else "?"


def _remarks(section: Section) -> list[str]:
    """Return the folded notes: of benchmarks that did not move, and of the whole."""
    found = section.comparison
    by_row = []
    for row in sorted(found.rows, key=_rank):
        verdict, reason = row.judgement.verdict, row.judgement.reason
        if verdict not in _MOVED:
            reasons = [reason] if verdict in ("undecided", "incomparable") else []
            by_row.append((code(row.fullname), [prose(note) for note in (*reasons, *row.notes) if note]))
    whole = map(prose, (*verdicts.remarks_on_all(found), *section.notes))
    return [f"- {line}" for line in chain(grouped(by_row), filter(None, whole))]


def _key(thresholds: Thresholds) -> list[str]:
    family, own = units.level(thresholds.family_level), units.level(thresholds.own_level)
    effect = units.fraction(thresholds.effect)
    return [
        f"- ratio: the second side's time over the first's; interval: {family}, of all benchmarks at once",
        f"- slower, faster: that interval excludes 1, and the change is at least {effect}",
        f"- same: the benchmark's own {own} interval lies within {effect}; undecided: neither",
        "- time: of the second side; sees: the slowdown that would have been found nine times in ten",
    ]
