"""Finds where benchmarks began to return another output: a binary search over `affected`'s comparison."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from ...ground.cpu import RealTime
from ...ground.errors import UsageError
from ...interfaces import Listener
from ...judge.comparison import Agreement, not_compared
from ...process.plan import Plan
from .. import affected
from .bisection import preparing
from .line import Place, line


@dataclass(frozen=True)
class OtherOutputs(Place):
    """A place in a line where outputs began to differ, and how they agree with the good end's at `after`."""

    benchmarks: dict[str, Agreement]


@dataclass(frozen=True)
class BisectedOutputs:
    """What is known, and saved."""

    results: Mapping[str, Agreement]
    """How the outputs of each benchmark agree between the ends."""
    changes: tuple[OtherOutputs, ...]
    unmeasured: Mapping[str, str]
    """By name, candidates that could not be compared with the good end, and why."""
    candidates: int
    compared: int
    seconds: float
    version: int = 1


def run(good: str, bad: str, plan: Plan, watcher: Listener) -> BisectedOutputs:
    """Find what changed outputs between two ends."""
    start, made = RealTime.seconds(), line(good, bad, plan.folder)
    plan = replace(plan, results=True)
    compared: dict[int, Mapping[str, Agreement]] = {}
    unmeasured: dict[str, str] = {}
    places: dict[tuple[int, int], dict[str, Agreement]] = {}
    with ExitStack() as stack:
        ready = preparing(made, plan, watcher, stack)

        def compare(position: int, names: Sequence[str] | None = None) -> Mapping[str, Agreement]:
            watcher.say(f"comparing the outputs of {made.candidates[position].name}")
            rows = affected.run(ready(0), ready(position), plan, watcher, names).benchmarks
            equal, unknown = Agreement("equal"), not_compared("the benchmark was not inspected")
            return {name: row.results or (equal if row.same_code else unknown) for name, row in rows.items()}

        ends = compared[made.last] = compare(made.last)
        others = [name for name, agreement in ends.items() if agreement.is_other]
        for name in others:
            low, high, unknown = 0, made.last, set[int]()
            while between := [position for position in range(low + 1, high) if position not in unknown]:
                middle = between[len(between) // 2]
                if middle not in compared:
                    try:
                        compared[middle] = compare(middle, others)
                    except UsageError as error:  # it cannot be built, or does not start
                        compared[middle], unmeasured[made.candidates[middle].name] = {}, str(error)
                agreement = compared[middle].get(name)
                if agreement is None or agreement.status == "not compared":
                    unknown.add(middle)
                elif agreement.is_other:
                    high = middle
                else:
                    low = middle
            places.setdefault((low, high), {})[name] = compared[high][name]
    changes = tuple(
        OtherOutputs(**vars(made.place(*at)), benchmarks=its) for at, its in sorted(places.items())
    )
    done, seconds = len(compared) - len(unmeasured), round(RealTime.seconds() - start, 3)
    return BisectedOutputs(ends, changes, unmeasured, made.last, done, seconds)
