"""What is different between two profiles: ranges and operators that came or went, and what takes longer."""

import re
import statistics
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import units
from .tree import WIDTH

_TREES = ("layers", "ranges", "phases")
"""Sections with times by range, the most detailed first."""
_LEAST_REPEATS = 4
"""Fewer say nothing of their spread."""
_MOST_SHOWN = 30
_NOTE = "Share: of all operators (ops), or of the time. Times: without inner ranges."

Path = tuple[str, ...]
"""Names of ranges, outermost first."""


@dataclass(frozen=True)
class Change:
    """One difference."""

    kind: str
    """`appeared`, `vanished` or `changed`."""
    unit: str
    """`calls` of a range, `operators` of a name in a range, or `ns`, a range's self time in the median."""
    path: Path
    """The range."""
    name: str
    """Of an operator, or of a library's function; of a range, its own."""
    before: float
    after: float
    share: float
    """How much of the larger whole that is: of the operators, those inside of a range included; or of the
    call's time."""


def diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Compare two records: the changes, the largest share first.

    Operators of a range that appeared or vanished are not listed, nor are those that grew as its calls did.
    Self time changed if the medians are farther apart than both interquartile ranges together.
    """
    one, other = before["sections"], after["sections"]
    tree = next((kind for kind in _TREES if kind in one and kind in other), None)
    changes = [
        *_counted(one["counts"], other["counts"]),
        *(_timed(one[tree]["rows"], other[tree]["rows"]) if tree else ()),
    ]
    return sorted(changes, key=lambda change: -change.share)


def table(changes: Sequence[Change]) -> str:
    """Lay out changes in 80 columns."""
    if not changes:
        return "nothing changed: no range, no operator, and no self time beyond its spread"
    lines = [_line("Change", "Before", "After", "Share", "What")]
    lines += [_cells(change) for change in changes[:_MOST_SHOWN]]
    if len(changes) > _MOST_SHOWN:
        lines.append(f"and {len(changes) - _MOST_SHOWN} that are smaller")
    return "\n".join([*lines, _NOTE])


def _counted(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    calls = [_calls(counts) for counts in (before, after)]
    operators = [_operators(counts) for counts in (before, after)]
    whole = max(found.total() for found in operators) or 1
    for path in calls[0] | calls[1]:
        one, other = (found[path] for found in calls)
        if one != other:
            inside = [_inside(found, path) for found in operators]
            share = abs(inside[1] - inside[0]) / whole
            yield Change(_kind(one, other), "calls", path, path[-1], one, other, share)
    for path, name in operators[0] | operators[1]:
        one, other = (found[path, name] for found in operators)
        called = [found[path] for found in calls]
        if all(called) and one * called[1] != other * called[0]:
            share = abs(other - one) / whole
            yield Change(_kind(one, other), "operators", path, name, one, other, share)


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


def _kind(before: float, after: float) -> str:
    return "changed" if before and after else "appeared" if after else "vanished"


def _timed(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Iterator[Change]:
    whole_ns = max(statistics.median(rows[0]["total_ns"]) for rows in (before, after))
    times = [
        {tuple(row["path"]): row["self_ns"] for row in rows if any(row["calls"])} for rows in (before, after)
    ]
    if min(len(rows[0]["self_ns"]) for rows in (before, after)) < _LEAST_REPEATS:
        return
    for path in times[0] | times[1]:
        both = [found[path] for found in times if path in found]
        one, other = (statistics.median(found.get(path, [0])) for found in times)
        if one != other and (len(both) == 1 or abs(other - one) > sum(map(_spread_ns, both))):
            yield Change(_kind(one, other), "ns", path, path[-1], one, other, abs(other - one) / whole_ns)


def _spread_ns(times_ns: Sequence[float]) -> float:
    low, _, high = statistics.quantiles(times_ns, n=4, method="inclusive")
    return high - low


def _cells(change: Change) -> str:
    outer = change.path if change.unit == "operators" else change.path[:-1]
    where = f"{change.name} in {'/'.join(outer)}" if outer else change.name
    before, after = (_amount(value, change.unit) for value in (change.before, change.after))
    return _line(change.kind, before, after, units.fraction(change.share), where)


def _amount(value: float, unit: str) -> str:
    if not value:
        return "none"
    if unit == "ns":
        return units.seconds(value / 1e9)
    name = {"calls": "call", "operators": "op"}[unit]
    return f"{value} {name}{'s' if value > 1 else ''}"


def _line(kind: str, before: str, after: str, share: str, what: str) -> str:
    start = f"{kind:<8} {before:>9} {after:>9} {share:>6}  "
    return _Paths(WIDTH, initial_indent=start, subsequent_indent=" " * len(start)).fill(what)


class _Paths(textwrap.TextWrapper):
    """Ends a line at a space or behind a slash."""

    wordsep_re = re.compile(r"(\s+|(?<=/))")
