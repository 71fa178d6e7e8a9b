"""Compares the times of ranges on two sides, from pairs of processes whose calls alternated."""

import statistics
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from .. import units
from ..compare.ab.estimate import judged
from ..compare.ab.evidence import Evidence
from ..compare.ab.visit import Visit
from ..compare.verdict import Judgement, Thresholds
from .diff import Path, line, place
from .record import ProfileRecord, TreeSection
from .text import WIDTH, nanoseconds

PAIRS = 5
"""Pairs of processes, one of each side. Several are needed, as processes of the same code differ."""
MOST_CALLS = 50
SECONDS = 1.0
"""From the second pair on, a process makes as many calls of a benchmark as fit in this time, at most
`MOST_CALLS`."""
LEAST_SHARE = 0.01
"""Ranges that take a smaller fraction of a call are not compared."""
TREES = ("layers", "ranges", "phases")
"""Kinds of profile with times by range, the most detailed first."""

Side = Mapping[str, ProfileRecord]
"""The records of one process by benchmark."""


class Range(NamedTuple):
    """A range of a benchmark."""

    benchmark: str
    path: Path


Times = Mapping[Range, Sequence[Visit]]
"""The times of each range, a visit for each pair of processes that has it."""


def kind_of(records: Sequence[ProfileRecord]) -> str | None:
    """Return the first kind of profile with times that all have; None if there is none."""
    return next((kind for kind in TREES if all(kind in one.sections for one in records)), None)


def calls_of(records: Sequence[ProfileRecord], kind: str) -> int:
    """Return how many calls of a benchmark fit in `SECONDS`, at most `MOST_CALLS`."""
    call_ns = statistics.mean(min(one.section(kind)["rows"][0]["total_ns"]) for one in records)
    return min(MOST_CALLS, int(SECONDS * 1e9 / call_ns))


def times_of(pairs: Sequence[Sequence[Side]], kind: str) -> Times:
    """Return the self times of the ranges that both sides have, a visit for each pair of processes.

    Args:
        pairs: what the two processes of each pair recorded.
        kind: one of `TREES`, which all records have.
    """
    found: dict[Range, list[Visit]] = {}
    compared = set()
    for before, after in pairs:
        for name in (name for name in before if name in after):
            for path, visit, share in _visits(before[name].section(kind), after[name].section(kind)):
                found.setdefault(Range(name, path), []).append(visit)
                if share >= LEAST_SHARE:
                    compared.add(Range(name, path))
    return {range_: visits for range_, visits in found.items() if range_ in compared}


def _visits(before: TreeSection, after: TreeSection) -> Iterator[tuple[Path, Visit, float]]:
    """Yield the self times of each range in the calls in which both sides open it.

    With them, the fastest as a fraction of the fastest call, on the side where that is larger.
    """
    sides = [{tuple(row["path"]): row["self_ns"] for row in one["rows"]} for one in (before, after)]
    whole_ns = [min(one["rows"][0]["total_ns"]) for one in (before, after)]
    for path in (path for path in sides[0] if path in sides[1]):
        called = [both for both in zip(sides[0][path], sides[1][path], strict=True) if all(both)]
        if called:
            before_ns, after_ns = zip(*called, strict=True)
            share = max(min(before_ns) / whole_ns[0], min(after_ns) / whole_ns[1])
            yield path, Visit(before_ns, after_ns, len(called), 0.0), share


def judge(times: Times, thresholds: Thresholds) -> dict[Range, Judgement]:
    """Compare every range by the rules of `gnnbench ab`, with a correction for the number of ranges."""
    names = list(map(str, range(len(times))))
    evidence = Evidence(names)
    for visits in zip_longest(*times.values()):
        evidence.add({name: visit for name, visit in zip(names, visits, strict=True) if visit})
    estimates = evidence.estimates() if times else {}
    found = (judged(estimates[name], thresholds, len(names)) for name in names)
    return dict(zip(times, found, strict=True))


def table(benchmark: str, times: Times, judgements: Mapping[Range, Judgement]) -> str:
    """Return the ranges of a benchmark that are slower or faster as a table of 80 columns."""
    lines = [line(f"{'Time':<8} {'Before':>9} {'After':>9} {'Ratio':>6} {'Interval':>10}  ", "What")]
    for range_, found in judgements.items():
        if range_.benchmark == benchmark and found.verdict in ("slower", "faster"):
            before = _middle(visit.base_ns for visit in times[range_])
            after = _middle(visit.head_ns for visit in times[range_])
            ratio, interval = units.ratio(found.ratio, changed=True), units.interval(found.low, found.high)
            start = f"{found.verdict:<8} {before:>9} {after:>9} {ratio:>6} {interval:>10}  "
            lines.append(line(start, place(range_.path[:-1], range_.path[-1])))
    return "\n".join(lines) if lines[1:] else "times: no range differs by more than its interval"


def _middle(times_ns: Iterable[Sequence[float]]) -> str:
    return nanoseconds(statistics.median(chain.from_iterable(times_ns)))


def note(judgements: Mapping[Range, Judgement], thresholds: Thresholds) -> str:
    """Return what the times are of, and how small a difference they show."""
    detectable = [
        found.minimum_detectable_effect
        for found in judgements.values()
        if found.minimum_detectable_effect is not None
    ]
    text = (
        f"Times: without inner ranges, from {PAIRS} pairs of processes whose calls alternated. "
        f"{units.count(len(judgements), 'range')} of at least {units.fraction(LEAST_SHARE)} of a call "
        f"compared, with simultaneous {units.level(thresholds.family_level)} intervals."
    )
    if detectable:
        smallest = units.fraction(statistics.median(detectable))
        text += f" Median of the minimum detectable effects: {smallest}."
    return textwrap.fill(text, WIDTH)
