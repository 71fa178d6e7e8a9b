"""Compares two profiles: ranges and operators that appeared, vanished or changed in number."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import units
from .tree import WIDTH

_MOST_SHOWN = 30
_NOTE = "Share: fraction of all operators (ops)."

Path = tuple[str, ...]
"""Names of ranges, outermost first."""


@dataclass(frozen=True)
class CountChange:
    """One difference between two profiles."""

    kind: str
    """`appeared`, `vanished` or `changed`."""
    unit: str
    """`calls` of a range, or `operators` inside a range."""
    path: Path
    """The range."""
    name: str
    """The operator or library function; for `calls`, the range's own name."""
    before: int
    after: int
    share: float
    """The difference as a fraction of all operators, on the side that has more; inner ranges included."""


def diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[CountChange]:
    """Compare what one call does in two records; largest share first.

    If a range appeared or vanished, its operators are not listed. Nor are operators whose number changed in
    proportion to the range's calls.
    """
    changes = _counted(before["sections"]["counts"], after["sections"]["counts"])
    return sorted(changes, key=lambda change: -change.share)


def table(changes: Sequence[CountChange]) -> str:
    """Return the changes as a table of 80 columns."""
    if not changes:
        return "counts: no difference in calls of ranges or operators"
    lines = [_line("Change", "Before", "After", "Share", "What")]
    lines += [_cells(change) for change in changes[:_MOST_SHOWN]]
    if len(changes) > _MOST_SHOWN:
        lines.append(f"and {len(changes) - _MOST_SHOWN} smaller changes")
    return "\n".join([*lines, _NOTE])


def _counted(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[CountChange]:
    calls = [_calls(counts) for counts in (before, after)]
    operators = [_operators(counts) for counts in (before, after)]
    whole = max(found.total() for found in operators) or 1
    for path in calls[0] | calls[1]:
        one, other = (found[path] for found in calls)
        if one != other:
            inside = [_inside(found, path) for found in operators]
            share = abs(inside[1] - inside[0]) / whole
            yield CountChange(_kind(one, other), "calls", path, path[-1], one, other, share)
    for path, name in operators[0] | operators[1]:
        one, other = (found[path, name] for found in operators)
        called = [found[path] for found in calls]
        if all(called) and one * called[1] != other * called[0]:
            share = abs(other - one) / whole
            yield CountChange(_kind(one, other), "operators", path, name, one, other, share)


def _calls(counts: Mapping[str, Any]) -> Counter[Path]:
    return Counter({tuple(row["path"]): row["count"] for row in counts["ranges"]})


def _operators(counts: Mapping[str, Any]) -> Counter[tuple[Path, str]]:
    found: Counter[tuple[Path, str]] = Counter()
    for kind in ("operators", "library_calls"):
        for row in counts[kind]:
            found[tuple(row["path"]), row["name"]] += row["count"]
    return found


def _inside(operators: Counter[tuple[Path, str]], path: Path) -> int:
    return sum(count for (inner, _), count in operators.items() if inner[: len(path)] == path)


def _kind(before: int, after: int) -> str:
    return "changed" if before and after else "appeared" if after else "vanished"


def place(path: Path, name: str) -> str:
    """Return a name with its range: `x·W in call/forward/GCNConv`."""
    return f"{name} in {'/'.join(path)}" if path else name


def line(start: str, what: str) -> str:
    """Return a table row of 80 columns, with the last column wrapped."""
    return _Paths(WIDTH, initial_indent=start, subsequent_indent=" " * len(start)).fill(what)


def _cells(change: CountChange) -> str:
    where = place(change.path if change.unit == "operators" else change.path[:-1], change.name)
    before, after = (_amount(value, change.unit) for value in (change.before, change.after))
    return _line(change.kind, before, after, units.fraction(change.share), where)


def _amount(count: int, unit: str) -> str:
    if not count:
        return "none"
    name = {"calls": "call", "operators": "op"}[unit]
    return f"{count} {name}{'s' if count > 1 else ''}"


def _line(kind: str, before: str, after: str, share: str, what: str) -> str:
    return line(f"{kind:<8} {before:>9} {after:>9} {share:>6}  ", what)


class _Paths(textwrap.TextWrapper):
    wordsep_re = re.compile(r"(\s+|(?<=/))")
