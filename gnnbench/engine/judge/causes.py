"""Divides slower benchmarks among causes: the fewest and likeliest changes that they have in common.

A cause is a part of the code that differs between the sides, or a counter if no part of the code qualifies.
This is the set cover problem. The greedy solution (Johnson, 1974) repeatedly takes the cause that most of the
remaining benchmarks share. Benchmarks that share a cause without being slower are evidence against it.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Literal

from ..measure.counter_changes import CounterChange
from ..measure.fingerprint.difference import Difference
from .comparison import Compared, Work

Kind = Literal["functions", "values", "libraries", "settings", "counters"]

_KINDS: tuple[Kind, ...] = ("functions", "values", "libraries", "settings")
"""Parts of a fingerprint that can be a cause, the likeliest first."""
_ALONE = 2
"""Rank of a part that changed in one benchmark only. It comes last."""
_MORE, _FEWER = len(_KINDS), len(_KINDS) + 1
"""Rank of a counter that rose, and rank of a counter that fell."""
_UNSPECIFIC = "Python calls"
"""A counter that differs after most changes of code."""

_Part = tuple[int, str]
"""A part of the code or a counter: its rank (the index in _KINDS, _MORE or _FEWER) and its name."""


@dataclass(frozen=True)
class Cause:
    """What some slower benchmarks have in common."""

    kind: Kind
    """The kind of `names`. `counters` if `names` is empty."""
    names: tuple[str, ...]
    """Parts of the code that changed in each of the benchmarks, the likeliest first: see `Difference`."""
    counters: tuple[str, ...]
    """Counters that changed in each benchmark: `+1 aten::sort`, or `more aten::sort` if changes differ."""
    rows: tuple[Compared, ...]
    """The slower benchmarks, the largest ratio first."""
    not_slower: int = 0
    """Number of other benchmarks in which the first of `names` changed too, but which are not slower."""

    def side_of(self, name: str) -> str:
        """Return the side that alone has a part in all benchmarks. Empty if there is no such side."""
        first, *others = (row.work.changed.side_of(name) for row in self.rows if row.work.changed)
        return first if all(side == first for side in others) else ""

    def covers(self, row: Compared) -> bool:
        """Tell whether the cause names all known differences in the work of a benchmark."""
        difference = row.work.changed
        kind = next((kind for kind in _KINDS if difference and getattr(difference, kind)), "counters")
        names = difference.names(kind) if difference and kind != "counters" else ()
        counters = {str(counter) for counter in row.work.counters}
        return kind == self.kind and {*names} == {*self.names} and counters == {*self.counters}


def causes(rows: Iterable[Compared]) -> list[Cause]:
    """Divide the slower benchmarks among causes. Causes with more benchmarks come first.

    Benchmarks whose changes are unknown are left out. The order of the rows does not matter.
    """
    slower: dict[str, Compared] = {}
    names_by_part: dict[_Part, set[str]] = defaultdict(set)
    against: Counter[_Part] = Counter()
    for row in rows:
        if row.judgement.verdict == "slower":
            slower[row.fullname] = row
            for part in _parts(row.work):
                names_by_part[part].add(row.fullname)
        elif row.judgement.verdict in ("same", "faster"):
            against.update(_parts(row.work))
    groups = [_cause([slower[name] for name in names], against) for names in _cover(names_by_part, against)]
    return sorted(groups, key=lambda cause: (-len(cause.rows), _by_ratio(cause.rows[0])))


def _parts(work: Work) -> set[_Part]:
    """Return all parts of the code, and all counters, that changed and may be a cause."""
    parts: set[_Part] = set()
    if difference := work.changed:
        parts = {(rank, name) for rank, kind in enumerate(_KINDS) for name in difference.names(kind)}
    return parts | {_direction(counter) for counter in work.counters if counter.name != _UNSPECIFIC}


def _cover(parts: Mapping[_Part, Collection[str]], against: Mapping[_Part, int]) -> Iterator[set[str]]:
    """Yield a set of benchmarks for each cause. Each benchmark is in exactly one set.

    For each changed part, `parts` has the slower benchmarks, and `against` the number of other benchmarks.
    """
    remaining = {part: set(names) for part, names in parts.items()}

    def key(part: _Part) -> tuple[int, int, int, _Part]:
        count = len(remaining[part])
        # A counter is a consequence of the code, so it comes after code that several benchmarks share.
        is_code = part[0] < _MORE and count > against[part]
        rank = _ALONE if count < 2 else int(not is_code)  # noqa: PLR2004 - several
        return rank, against[part] - count, -count, part

    while remaining:
        benchmarks = remaining[min(remaining, key=key)]
        yield benchmarks
        remaining = {part: rest for part, names in remaining.items() if (rest := names - benchmarks)}


def _cause(rows: Collection[Compared], against: Mapping[_Part, int]) -> Cause:
    """Return the likeliest cause that slower benchmarks have in common."""
    ranked = tuple(sorted(rows, key=_by_ratio))
    shared = set.intersection(*(_parts(row.work) for row in ranked))
    counters = _counters(ranked)
    difference = ranked[0].work.changed or Difference()
    for rank, kind in enumerate(_KINDS):
        refutations = {name: against[rank, name] for name in difference.names(kind) if (rank, name) in shared}
        names = _with_least(refutations)
        if names and (refutations[names[0]] < len(ranked) or not counters):
            if kind == "functions" and difference.side_of(names[0]):
                # A function that only one side runs is a consequence: the changed code calls it.
                common = {name: count for name, count in refutations.items() if not difference.side_of(name)}
                names = (*_with_least(common), *names)
            return Cause(kind, names, counters, ranked, refutations[names[0]])
    return Cause("counters", (), counters, ranked)


def _by_ratio(row: Compared) -> tuple[float, str]:
    """Return a sort key with which larger ratios come first."""
    return -(row.judgement.ratio or 0.0), row.fullname


def _with_least(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the names with the smallest count."""
    fewest = min(counts.values(), default=0)
    return tuple(name for name, count in counts.items() if count == fewest)


def _counters(rows: Collection[Compared]) -> tuple[str, ...]:
    """Return the counters that rose in all rows, then the counters that fell in all rows."""
    changes = [{_direction(change): change for change in row.work.counters} for row in rows]
    counters = []
    # The sort is stable, so larger changes still come first within a direction.
    for direction in sorted(changes[0], key=itemgetter(0)):
        if not all(direction in change for change in changes):
            continue
        texts = {str(change[direction]) for change in changes}
        word = "more" if direction[0] == _MORE else "fewer"
        counters.append(texts.pop() if len(texts) == 1 else f"{word} {direction[1]}")
    return tuple(counters)


def _direction(change: CounterChange) -> _Part:
    """Return a counter as a part. Its rank says whether the counter rose or fell."""
    return _MORE if change.head > change.base else _FEWER, change.name
