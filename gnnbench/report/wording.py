"""Sentences about benchmarks."""

import math
from collections.abc import Iterable, Sequence

from .. import units
from ..compare.verdict import Judgement
from .headline import headline as main_result
from .headline import times
from .names import SHORT_DIRECTION
from .view import BenchmarkView, JudgedBy, View

CHANGED = ("slower", "accepted", "faster")
"""Verdicts on a changed time, in the order of `moved`."""


def headline(view: View) -> str:
    """Return the main result of a view, on one line."""
    if view.kind == "profile":
        works = dict.fromkeys(found.work for found in view.breakdowns)
        return f"Where the time of {', '.join(works) or view.source} goes"
    if not view.benchmarks:
        return "This file has no benchmarks"
    if all(one.error for one in view.benchmarks):
        return f"{_all(len(view.benchmarks))} interrupted"
    others = [one for one in view.benchmarks if one.judgement or not one.error]
    cut = len(view.benchmarks) - len(others)
    if view.judged:
        text = _verdicts(others, view.judged)
    else:
        text = f"{units.count(len(others), 'benchmark')}, not compared with a baseline"
    return f"{text}; {cut} interrupted" if cut else text


def weighed(benchmarks: Sequence[BenchmarkView]) -> list[BenchmarkView]:
    """Return the benchmarks whose memory changed, those that need most more first."""
    changed = [one for one in benchmarks if one.memory and one.memory.changed]
    return sorted(changed, key=_added_bytes, reverse=True)


def _added_bytes(benchmark: BenchmarkView) -> int:
    return benchmark.memory.head_bytes - benchmark.memory.base_bytes if benchmark.memory else 0


def moved(benchmarks: Sequence[BenchmarkView]) -> list[BenchmarkView]:
    """Return slower benchmarks, accepted ones, then faster ones, each with the largest change first."""
    changed = [one for one in benchmarks if verdict(one) in CHANGED]
    return sorted(changed, key=lambda one: (CHANGED.index(verdict(one)), -abs(math.log(ratio(one)))))


def ordered(benchmarks: Iterable[BenchmarkView]) -> tuple[BenchmarkView, ...]:
    """Return what failed, then other changes, then the rest, each in the order of the file."""
    return tuple(sorted(benchmarks, key=lambda one: 0 if _failed(one) else 1 if is_changed(one) else 2))


def _failed(benchmark: BenchmarkView) -> bool:
    needs_more = benchmark.memory is not None and benchmark.memory.fails
    return verdict(benchmark) == "slower" or needs_more or bool(benchmark.error)


def is_changed(benchmark: BenchmarkView) -> bool:
    """Return whether its time or its memory changed."""
    return verdict(benchmark) in CHANGED or bool(benchmark.memory and benchmark.memory.changed)


def verdict(benchmark: BenchmarkView) -> str:
    """Return its verdict; empty: it has none."""
    return benchmark.judgement.verdict if benchmark.judgement else ""


def ratio(benchmark: BenchmarkView) -> float:
    """Return its ratio; 1: it has none."""
    return (benchmark.judgement and benchmark.judgement.ratio) or 1.0


def change(benchmark: BenchmarkView) -> str:
    """Describe a change: `gcn_norm f+b is 1.12x slower on torch`.

    Of one that is slower than accepted, it says by how much, and the whole ratio.
    """
    found, whole = verdict(benchmark), ratio(benchmark)
    if found == "slower" and (limit := benchmark.allowed):
        changed = f"{times(found, whole / limit.ratio)} than accepted ({units.ratio(whole)} in all)"
    else:
        changed = times(found, whole)
    return f"{subject(benchmark)} is {changed}{where(benchmark)}"


def subject(benchmark: BenchmarkView) -> str:
    """Return operation and direction, `gcn_norm f+b`, or the title."""
    spec = benchmark.spec
    return f"{spec.operation} {SHORT_DIRECTION[spec.direction]}" if spec else benchmark.title


def where(benchmark: BenchmarkView) -> str:
    """Return the platform, ` on torch`; empty: unknown."""
    return f" on {benchmark.spec.platform}" if benchmark.spec else ""


def interval(benchmark: BenchmarkView) -> str:
    """Return the interval of the ratio; empty: there is none."""
    found = benchmark.judgement
    return units.interval(found.low, found.high) if found else ""


def whole(shared: Judgement) -> str:
    """Return ratio, interval and reason of the common change: `1.06x (1.04-1.08), the interval ...`."""
    bounds = units.interval(shared.low, shared.high)
    numbers = units.ratio(shared.ratio, changed=shared.changed), f"({bounds})" if bounds else ""
    return ", ".join(filter(None, (" ".join(filter(None, numbers)), shared.reason)))


def _verdicts(benchmarks: Sequence[BenchmarkView], judged: JudgedBy) -> str:
    """Return the main result; of what is slower, the largest change."""
    effect = judged.thresholds.effect if judged.thresholds else None
    found = main_result(benchmarks, judged.shared, effect)
    changed = moved(benchmarks)
    slower = sum(verdict(one) == "slower" for one in changed)
    if not slower:
        return found.whole
    alone = slower == 1 and not any(one.memory and one.memory.fails for one in benchmarks)
    return f"{found.said}{':' if alone else ';'} {change(changed[0])}"


def _all(count: int) -> str:
    return f"All {count:,} benchmarks are" if count > 1 else "The one benchmark is"
