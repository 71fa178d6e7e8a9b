"""Write results as GitHub's Markdown, for a comment or a page."""

import math
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from ..drive.result import Result
from ..ground import units
from ..ground.errors import UsageError
from ..judge.comparison import Compared
from . import causes, document, verdicts, wording
from .causes import BENCHMARKS, Told, apart, notes_of
from .markdown_text import code, prose, table
from .names import LONGEST, Names, grouped, labels_of
from .wording import CHANGED

MOST_CHARACTERS = 65_536
"""GitHub's limit for a comment."""
_SHORTEST = 20
"""Fewest characters of a row or a note."""
_FEW = 20
"""Up to this many rows, none is folded."""
_NAMED = 3
"""Notes shown per benchmark."""
_ORDER = (*CHANGED, "undecided", "incomparable", "ignored", "same")
_COLUMNS = sorted(verdicts.COLUMNS, key=lambda column: column.kind != "verdict")
"""The verdict comes first: a comment is often narrow."""


def write(
    results: Sequence[Result], title: str = "", details_url: str = "", most: int = MOST_CHARACTERS
) -> str:
    """Write results: a summary, a table that begins with the changed benchmarks, and folded details.

    `most`: most characters; what does not fit is left out, with a line that says how much.
    """
    parts = list(map(_excerpt, results))

    def render(rows: int) -> str:
        return _render(parts, title, details_url, rows)

    high = min(max(max(len(part.rows), len(part.remarks)) for part in parts), most // _SHORTEST)
    if _size(text := render(high)) <= most:
        return text
    fit = bisect(range(high), most, key=lambda rows: _size(render(rows)))
    if fit == 0:
        raise UsageError(f"{len(results)} results do not fit into {most:,} characters; write fewer at once")
    return render(fit - 1)


@dataclass(frozen=True)
class _Excerpt:
    result: Result
    rows: list[Compared]
    """Changed benchmarks first."""
    names: Names
    causes: Sequence[Told]
    remarks: list[str]

    @property
    def machine(self) -> str:
        """The name of the GPU, or of the processor."""
        environment = self.result.environment or {}
        gpu = environment.get("gpu")
        name = gpu.get("name") if isinstance(gpu, Mapping) else None
        return str(name or environment.get("cpu") or "")


def _excerpt(result: Result) -> _Excerpt:
    found, _ = verdicts.divided(result.rows)
    told = causes.of_result(result)
    place = {row.fullname: number for number, one in enumerate(told) for row in one.cause.rows}
    rows = sorted(found, key=lambda row: _rank(row, place.get(row.fullname, len(place))))
    names = Names.of(labels_of(rows))
    return _Excerpt(result, rows, names, told, _remarks(result, rows, names, told))


def _size(text: str) -> int:
    """Return the length in UTF-16 units, the largest of the ways to count."""
    return len(text.encode("utf-16-le")) // 2


def _render(parts: Sequence[_Excerpt], title: str, details_url: str, most: int) -> str:
    """Write at most `most` rows and `most` notes of each section."""
    together = [row for part in parts for row in part.result.rows]
    several = len(parts) > 1
    busy = any(part.result.is_busy for part in parts)
    blocks = [[_verdict(together, busy=busy) + (f" · {prose(title)}" if title else "")]]
    for part in parts:
        result = part.result
        if several:
            alike = sum(other.machine == part.machine for other in parts) > 1
            names = (part.machine, result.path.name if alike else "")
            blocks += [
                [f"#### {' · '.join(map(code, filter(None, names)))}"],
                [_verdict(result.rows, busy=result.is_busy)],
            ]
        blocks += _section(part, details_url, most, name_machine=not several)
    if details_url:
        blocks.append([f"[Full report]({details_url})"])
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _verdict(rows: Sequence[Compared], *, busy: bool) -> str:
    """Return the summary line."""
    found = wording.headline(rows, busy=busy)
    return f"**{found.said}**{f': {found.others}' if found.others else ''}"


def _section(part: _Excerpt, details_url: str, most: int, *, name_machine: bool) -> list[list[str]]:
    """Return the lines of each block; there are blank lines between the blocks."""
    result, rows, remarks = part.result, part.rows, part.remarks
    kept = rows[:most]
    changed = [row for row in kept if wording.is_changed(row)]
    shown = kept if len(rows) <= _FEW else changed
    folded = kept[len(shown) :]
    told = part.causes[:most]
    why = [line for one in told for line in _cause(one, part.names)]
    remain = [(row, notes) for row in changed if (notes := _notes(row, told))]
    why += [f"- {_name(part.names, row)}: {_joined(notes)}" for row, notes in remain]
    place = f", on {code(part.machine)}" if part.machine and name_machine else ""
    shared = f": {code(part.names.shared)}" if part.names.shared else ""
    missing = {"benchmark": len(rows) - len(kept), "note": len(remarks) - most}
    left_out = " and ".join(units.count(number, noun) for noun, number in missing.items() if number > 0)
    file = code(result.path.name) if result.path.name else ""
    where = f"[the full report]({details_url})" if details_url else file
    what = f"{units.count(len(folded), 'more benchmark')}, notes" if folded else "Notes"
    return [
        [f"{prose(result.base.title)} → {prose(result.head.title)}{place}{shared}"],
        _table(shown, part.names),
        why,
        [f"Left out for length: {left_out}{where and f'; see {where}'}."] if left_out else [],
        ["<details>", f"<summary>{what} and how to read this</summary>"],
        _table(folded, part.names),
        [*remarks[:most], *_key(result)],
        ["</details>"],
    ]


def _notes(row: Compared, told: Sequence[Told]) -> tuple[str, ...]:
    other = (row.judgement.reason,) if row.has_other_result else wording.result_notes(row.results)
    return (*other, *wording.memory_notes(row.memory), *apart(row, told))


def _cause(told: Told, names: Names) -> list[str]:
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
    return not wording.is_changed(row), _ORDER.index(found.verdict), cause, -change


def _table(rows: Sequence[Compared], names: Names) -> list[str]:
    """Return the lines of a table; of no rows there are none."""
    if not rows:
        return []
    cells = {row.fullname: names.cells[row.fullname] for row in rows}
    found = {row.fullname: row for row in rows}
    return table(document.table(replace(names, cells=cells), _COLUMNS, found))


def _name(names: Names, row: Compared) -> str:
    """Write the name of a benchmark in a sentence."""
    return code(" ".join(names.cells[row.fullname]))


def _remarks(result: Result, rows: Sequence[Compared], names: Names, told: Sequence[Told]) -> list[str]:
    """Return the folded notes: on unchanged benchmarks, what else changed in others, the whole result."""
    by_row = []
    for row in rows:
        verdict, reason = row.judgement.verdict, row.judgement.reason
        unsure = verdict in ("undecided", "incomparable")
        reasons = [reason] if unsure else wording.reasons(row.judgement)
        # Those of changed ones are below the table.
        above = _notes(row, told) if wording.is_changed(row) else ()
        others = (note for note in (*reasons, *notes_of(row, told)) if note and note not in above)
        by_row.append((_name(names, row), list(map(prose, others))))
    first = [f"only a part of the benchmarks: shard {result.shard}"] if result.shard else []
    first += ["interrupted: benchmarks without a verdict by then are undecided"] if result.interrupted else []
    of_all = wording.shrunk((row.judgement for row in result.rows), "benchmark")
    whole = map(prose, (*of_all, *first, *result.all_notes()))
    return [f"- {line}" for line in chain(grouped(by_row), filter(None, whole))]


def _key(result: Result) -> list[str]:
    thresholds = result.thresholds
    family, own = units.level(thresholds.family_level), units.level(thresholds.own_level)
    effect = prose(wording.effects(thresholds, (row.fullname for row in result.rows)))
    return [
        f"- time: of the head; ratio: to that of the base; interval: simultaneous {family} interval",
        f"- slower, faster: the simultaneous interval excludes 1, and the change is at least {effect}",
        f"- same: the per-benchmark {own} interval lies within {effect}; undecided: neither",
        "- MDE: minimum detectable effect of an undecided one (power 90%)",
        "- more memory, less memory: the peak of a call beside its inputs differs by at least 1% and 64 KiB",
    ]
