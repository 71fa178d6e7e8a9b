"""Compares two profiles: ranges, operators and instructions that appeared, vanished or changed in number."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .. import units
from ..compare.instructions import InstructionChange
from .record import Counts, ProfileRecord
from .text import WIDTH

_MOST_SHOWN = 30
_NOTE = "Share: fraction of all operators (ops)."

Path = tuple[str, ...]
"""Names of ranges, outermost first."""


@dataclass(frozen=True)
class CountChange:
    """One difference between two profiles."""

    unit: Literal["call", "op"]
    """Calls of a range, or operators inside a range."""
    path: Path
    """The range; of calls, the one around it."""
    name: str
    """The operator, library function or range."""
    before: int
    after: int
    share: float
    """The difference as a fraction of all operators, on the side that has more; inner ranges included."""

    @property
    def kind(self) -> str:
        """`appeared`, `vanished` or `changed`."""
        return "changed" if self.before and self.after else "appeared" if self.after else "vanished"


def diff(before: ProfileRecord, after: ProfileRecord) -> list[CountChange]:
    """Compare what one call does in two records; largest share first.

    If a range appeared or vanished, its operators are not listed. Nor are operators whose number changed in
    proportion to the range's calls.
    """
    changes = _changes(*(record.sections["counts"] for record in (before, after)))
    return sorted(changes, key=lambda change: -change.share)


def table(changes: Sequence[CountChange]) -> str:
    """Return the changes as a table of 80 columns."""
    if not changes:
        return "counts: no difference in calls of ranges or operators"
    lines = [_line("Change", "Before", "After", "Share", "What")]
    for change in changes[:_MOST_SHOWN]:
        before, after = (_amount(number, change.unit) for number in (change.before, change.after))
        what = place(change.path, change.name)
        lines.append(_line(change.kind, before, after, units.fraction(change.share), what))
    if len(changes) > _MOST_SHOWN:
        lines.append(f"and {len(changes) - _MOST_SHOWN} smaller changes")
    return "\n".join([*lines, _NOTE])


def described(before: ProfileRecord, after: ProfileRecord) -> str:
    """Return how what one call does differs: a table of counts, and a sentence on instructions."""
    counts = table(diff(before, after))
    one, other = (record.sections.get("instructions") for record in (before, after))
    if not one or not other:
        return counts
    ways = [f"{section['counter']} ({section['capability']})" for section in (one, other)]
    if ways[0] != ways[1]:
        return f"{counts}\ninstructions: not compared, as they were counted by {' and '.join(ways)}"
    sentence = f"instructions: {InstructionChange.between(one['counted'], other['counted']).sentence()}"
    return f"{counts}\n{textwrap.fill(sentence, WIDTH, break_on_hyphens=False)}"


def place(path: Path, name: str) -> str:
    """Return a name with its range: `x·W in call/forward/GCNConv`."""
    return f"{name} in {'/'.join(path)}" if path else name


def line(start: str, what: str) -> str:
    """Return a table row of 80 columns, with the last column wrapped."""
    return _Paths(WIDTH, initial_indent=start, subsequent_indent=" " * len(start)).fill(what)


def _changes(before: Counts, after: Counts) -> Iterator[CountChange]:
    calls = [Counter({tuple(row["path"]): row["count"] for row in one["ranges"]}) for one in (before, after)]
    operators = [_operators(one) for one in (before, after)]
    whole = max(found.total() for found in operators) or 1
    for path in calls[0] | calls[1]:
        one, other = (found[path] for found in calls)
        if one != other:
            inside = [_inside(found, path) for found in operators]
            yield CountChange("call", path[:-1], path[-1], one, other, abs(inside[1] - inside[0]) / whole)
    for path, name in operators[0] | operators[1]:
        one, other = (found[path, name] for found in operators)
        called = [found[path] for found in calls]
        if all(called) and one * called[1] != other * called[0]:
            yield CountChange("op", path, name, one, other, abs(other - one) / whole)


def _operators(counts: Counts) -> Counter[tuple[Path, str]]:
    found: Counter[tuple[Path, str]] = Counter()
    for row in (*counts["operators"], *counts["library_calls"]):
        found[tuple(row["path"]), row["name"]] += row["count"]
    return found


def _inside(operators: Counter[tuple[Path, str]], path: Path) -> int:
    return sum(count for (inner, _), count in operators.items() if inner[: len(path)] == path)


def _amount(count: int, unit: str) -> str:
    return f"{count} {unit}{'s' if count > 1 else ''}" if count else "none"


def _line(kind: str, before: str, after: str, share: str, what: str) -> str:
    return line(f"{kind:<8} {before:>9} {after:>9} {share:>6}  ", what)


class _Paths(textwrap.TextWrapper):
    wordsep_re = re.compile(r"(\s+|(?<=/))")
