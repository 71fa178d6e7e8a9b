"""What is different between two profiles: ranges and operators that came, went, or are more or fewer."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import units
from .tree import WIDTH

_MOST_SHOWN = 30
_NOTE = "Share: of all operators (ops)."

Path = tuple[str, ...]
"""Names of ranges, outermost first."""


@dataclass(frozen=True)
class Change:
    """One difference."""

    kind: str
    """`appeared`, `vanished` or `changed`."""
    unit: str
    """`calls` of a range, or `operators` of a name in a range."""
    path: Path
    """The range."""
    name: str
    """Of an operator, or of a library's function; of a range, its own."""
    before: int
    after: int
    share: float
    """How much that is of the operators of the side that has more; those inside of a range included."""


def diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Compare what one call does in two records: the changes, the largest share first.

    Operators of a range that appeared or vanished are not listed, nor are those that grew as its calls did.
    """
    changes = _counted(before["sections"]["counts"], after["sections"]["counts"])
    return sorted(changes, key=lambda change: -change.share)


def table(changes: Sequence[Change]) -> str:
    """Lay out changes in 80 columns."""
    if not changes:
        return "counts: nothing changed, neither calls of ranges nor operators in them"
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


def _kind(before: int, after: int) -> str:
    return "changed" if before and after else "appeared" if after else "vanished"


def place(path: Path, name: str) -> str:
    """Say where something of a name is: `x·W in call/forward/GCNConv`."""
    return f"{name} in {'/'.join(path)}" if path else name


def line(start: str, what: str) -> str:
    """Lay out a row in 80 columns; what is in its last column is wrapped there."""
    return _Paths(WIDTH, initial_indent=start, subsequent_indent=" " * len(start)).fill(what)


def _cells(change: Change) -> str:
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
    """Ends a line at a space or behind a slash."""

    wordsep_re = re.compile(r"(\s+|(?<=/))")
