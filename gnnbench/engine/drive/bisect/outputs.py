"""Finds where outputs of benchmarks changed: a binary search that compares them as `affected` does."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from ...ground.cpu import RealTime
from ...ground.errors import UsageError
from ...interfaces import Listener
from ...judge.comparison import Agreement, not_compared
from ...process.plan import Plan
from .. import affected
from .bisection import preparer
from .line import Place, line


@dataclass(frozen=True)
class OtherOutputs(Place):
    """Two candidates of a line between which outputs changed."""

    benchmarks: dict[str, Agreement]
    """How the outputs of `after` agree with those of the good end, by benchmark."""


@dataclass(frozen=True)
class BisectedOutputs:
    """The places of a line where outputs changed."""

    results: Mapping[str, Agreement]
    """How the outputs of each benchmark agree between the ends."""
    changes: tuple[OtherOutputs, ...]
    unmeasured: Mapping[str, str]
    """Why candidates could not be compared with the good end, by name of the candidate."""
    candidates: int
    compared: int
    """Number of candidates that were compared with the good end."""
    seconds: float
    version: int = 1


def run(good: str, bad: str, plan: Plan, watcher: Listener) -> BisectedOutputs:
    """Find the candidates at which outputs changed, between two variants."""
    start, history = RealTime.seconds(), line(good, bad, plan.folder)
    plan = replace(plan, results=True)
    compared: dict[int, Mapping[str, Agreement]] = {}
    unmeasured: dict[str, str] = {}
    places: dict[tuple[int, int], dict[str, Agreement]] = {}
    with ExitStack() as stack:
        ready = preparer(history, plan, watcher, stack)

        def compare(position: int, names: Sequence[str] | None = None) -> Mapping[str, Agreement]:
            watcher.say(f"comparing outputs of GOOD and {history.candidates[position].name}")
            sides = ready(0), ready(position)
            rows = affected.run(*sides, replace(plan, only=names), watcher).benchmarks
            equal, unknown = Agreement("equal"), not_compared("the benchmark was not inspected")
            return {name: row.results or (equal if row.same_code else unknown) for name, row in rows.items()}

        ends = compared[history.last] = compare(history.last)
        differing = [name for name, agreement in ends.items() if agreement.is_other]
        for name in differing:
            low, high, unknown = 0, history.last, set[int]()
            while between := [position for position in range(low + 1, high) if position not in unknown]:
                middle = between[len(between) // 2]
                if middle not in compared:
                    try:
                        compared[middle] = compare(middle, differing)
                    except UsageError as error:  # the candidate cannot be built, or does not start
                        compared[middle], unmeasured[history.candidates[middle].name] = {}, str(error)
                agreement = compared[middle].get(name)
                if agreement is None or agreement.status == "not compared":
                    unknown.add(middle)
                elif agreement.is_other:
                    high = middle
                else:
                    low = middle
            places.setdefault((low, high), {})[name] = compared[high][name]
    changes = tuple(
        OtherOutputs(**vars(history.place(*span)), benchmarks=group) for span, group in sorted(places.items())
    )
    done, seconds = len(compared) - len(unmeasured), round(RealTime.seconds() - start, 3)
    return BisectedOutputs(ends, changes, unmeasured, history.last, done, seconds)
