"""What slower benchmarks have in common: they are divided among the fewest and likeliest causes.

A cause is a part of the code that differs between both sides, or else a counter. This is the set cover
problem; the greedy solution takes next the cause that most of the remaining benchmarks share (Johnson, 1974).
A benchmark that is not slower although the same part changed is evidence against that cause.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ..measure.counter_changes import CounterChange
from ..measure.fingerprint.difference import Difference
from .comparison import Compared, Work

Kind = Literal["functions", "values", "libraries", "settings", "counters"]

_KINDS: tuple[Kind, ...] = ("functions", "values", "libraries", "settings")
"""Parts of a fingerprint that can be a cause, the likeliest first."""
_ALONE = 2
"""What one benchmark alone has comes last."""
_MORE, _FEWER = len(_KINDS), len(_KINDS) + 1
_INSIDE = ".<locals>."
_VAGUE = "Python calls"
"""A counter that most changes of code change."""

_Part = tuple[int, str]
"""Rank of a kind, and name; after the kinds there are counters that rose, and those that fell."""


@dataclass(frozen=True)
class Cause:
    """What some slower benchmarks have in common."""

    kind: Kind
    """Kind of `names`; `counters`: there are none."""
    names: tuple[str, ...]
    """Parts of the code that changed in each of the benchmarks, the likeliest first: of functions that call
    each other, the innermost."""
    counters: tuple[str, ...]
    """Counters that changed in each: `+1 aten::sort`, or `more aten::sort` if the numbers differ."""
    rows: tuple[Compared, ...]
    """The slower benchmarks, the largest ratio first."""
    not_slower: int = 0
    """Number of benchmarks that are not slower although `names` changed in them too."""

    def side_of(self, name: str) -> str:
        """Return the side that alone has a part in each of the benchmarks; empty: there is none."""
        first, *others = (row.work.changed.side_of(name) for row in self.rows if row.work.changed)
        return first if all(one == first for one in others) else ""

    def tells_all(self, row: Compared) -> bool:
        """Tell whether the cause names all that is known to differ in the work of one of its benchmarks."""
        difference = row.work.changed
        kinds = [one for one in _KINDS if difference and getattr(difference, one)]
        names = _names(difference, kinds[0]) if difference and kinds else ()
        counters = {str(one) for one in row.work.counters}
        return ([*kinds[:1], "counters"][0], {*names}, counters) == (
            self.kind,
            {*self.names},
            {*self.counters},
        )


def causes(rows: Iterable[Compared]) -> list[Cause]:
    """Divide the slower benchmarks among causes, those with most benchmarks first.

    Benchmarks of which it is not known what changed are left out. The order of the rows does not matter.
    """
    slower: dict[str, Compared] = {}
    slowed: dict[_Part, set[str]] = {}
    against: Counter[_Part] = Counter()
    for row in rows:
        if row.judgement.verdict == "slower":
            slower[row.fullname] = row
            for part in _parts(row.work):
                slowed.setdefault(part, set()).add(row.fullname)
        elif row.judgement.verdict in ("same", "faster"):
            against.update(_parts(row.work))
    found = [_cause([slower[name] for name in names], against) for names in _cover(slowed, against)]
    return sorted(found, key=lambda one: (-len(one.rows), _rank(one.rows[0])))


def _parts(work: Work) -> set[_Part]:
    """Return everything that may be a cause."""
    found: set[_Part] = set()
    if difference := work.changed:
        found = {(rank, name) for rank, kind in enumerate(_KINDS) for name in _names(difference, kind)}
    return found | {_direction(one) for one in work.counters if one.name != _VAGUE}


def _names(difference: Difference, kind: Kind) -> list[str]:
    """Return what differs, without comprehensions and local functions inside of functions that differ."""
    names: tuple[str, ...] = getattr(difference, kind)
    known = set(names)
    return [name for name in names if name.partition(_INSIDE)[0] not in known or _INSIDE not in name]


def _cover(slowed: Mapping[_Part, Collection[str]], against: Mapping[_Part, int]) -> Iterator[set[str]]:
    """Yield the benchmarks of each cause; each benchmark is in one of them."""
    left = {part: set(names) for part, names in slowed.items()}

    def key(part: _Part) -> tuple[int, int, int, _Part]:
        count = len(left[part])
        # Counters say what the code does, so they come after code that several benchmarks share.
        is_code = part[0] < _MORE and count > against[part]
        last = _ALONE if count < 2 else int(not is_code)  # noqa: PLR2004 - several
        return last, against[part] - count, -count, part

    while left:
        covered = left[min(left, key=key)]
        yield covered
        left = {part: rest for part, names in left.items() if (rest := names - covered)}


def _cause(rows: Collection[Compared], against: Mapping[_Part, int]) -> Cause:
    ranked = tuple(sorted(rows, key=_rank))
    shared = set.intersection(*(_parts(row.work) for row in ranked))
    counters = _counters(ranked)
    for rank, kind in enumerate(_KINDS):
        parts = {part for part in shared if part[0] == rank}
        fewest = min((against[part] for part in parts), default=0)
        if parts and (fewest < len(ranked) or not counters):
            difference = ranked[0].work.changed
            assert difference
            likeliest = {name for _, name in parts if against[rank, name] == fewest}
            names = _innermost_first(difference, kind, likeliest)
            return Cause(kind, names, counters, ranked, fewest)
    return Cause("counters", (), counters, ranked)


def _rank(row: Compared) -> tuple[float, str]:
    """Sort key: larger ratios first."""
    return -(row.judgement.ratio or 0.0), row.fullname


def _innermost_first(difference: Difference, kind: Kind, names: Collection[str]) -> tuple[str, ...]:
    """Order names: a fingerprint has functions in the order of their first call, callers before callees."""
    order = [name for name in getattr(difference, kind) if name in names]
    if kind == "functions":
        order.reverse()
    # What was only called before is gone, and what replaced it is a likelier cause.
    return tuple(sorted(order, key=lambda name: name in difference.base_only))


def _counters(rows: Collection[Compared]) -> tuple[str, ...]:
    """Return the counters that changed in the same direction in all rows: those that rose first."""
    changes = [{_direction(one): one for one in row.work.counters} for row in rows]
    found = []
    for direction in sorted(set.intersection(*map(set, changes))):
        texts = {str(one[direction]) for one in changes}
        word = "more" if direction[0] == _MORE else "fewer"
        found.append(texts.pop() if len(texts) == 1 else f"{word} {direction[1]}")
    return tuple(found)


def _direction(change: CounterChange) -> _Part:
    return _MORE if change.head > change.base else _FEWER, change.name
