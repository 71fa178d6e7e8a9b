"""A binary search for the versions that changed outputs of benchmarks. `affected` compares the outputs."""

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
from .history import History, Place


@dataclass(frozen=True)
class OtherOutputs(Place):
    """Two candidates between which outputs changed."""

    benchmarks: dict[str, Agreement]
    """How the outputs of `after` agree with those of the good end, by benchmark."""


@dataclass(frozen=True)
class BisectedOutputs:
    """Where outputs changed between the good end and the bad end."""

    results: Mapping[str, Agreement]
    """How the outputs of the two ends agree, by benchmark."""
    changes: tuple[OtherOutputs, ...]
    unmeasured: Mapping[str, str]
    """Why candidates could not be compared with the good end, by name of the candidate."""
    candidates: int
    """Number of candidates, without the good end."""
    compared: int
    """Number of candidates that were compared with the good end."""
    seconds: float
    version: int = 1


def run(good: str, bad: str, plan: Plan, watcher: Listener) -> BisectedOutputs:
    """Find the versions between two variants at which outputs changed."""
    start, history = RealTime.seconds(), History.between(good, bad, plan.folder)
    plan = replace(plan, results=True)
    agreements: dict[int, Mapping[str, Agreement]] = {}
    failures: dict[str, str] = {}
    changes: dict[tuple[int, int], dict[str, Agreement]] = {}
    with ExitStack() as stack:
        ready = preparer(history, plan, watcher, stack)

        def compare(position: int, names: Sequence[str] | None = None) -> Mapping[str, Agreement]:
            watcher.say(f"comparing outputs of GOOD and {history.candidates[position].name}")
            result = affected.run(ready(0), ready(position), replace(plan, only=names), watcher)
            equal, unknown = Agreement("equal"), not_compared("the benchmark was not inspected")
            rows = result.benchmarks.items()
            return {name: row.results or (equal if row.same_code else unknown) for name, row in rows}

        agreements[history.last] = compare(history.last)
        differing = [name for name, agreement in agreements[history.last].items() if agreement.is_other]
        for name in differing:
            low, high, skipped = 0, history.last, set[int]()
            while between := [position for position in range(low + 1, high) if position not in skipped]:
                middle = between[len(between) // 2]
                if middle not in agreements:
                    try:
                        agreements[middle] = compare(middle, differing)
                    except UsageError as error:  # the candidate cannot be built, or does not start
                        agreements[middle], failures[history.candidates[middle].name] = {}, str(error)
                agreement = agreements[middle].get(name)
                if agreement is None or agreement.status == "not compared":
                    skipped.add(middle)
                elif agreement.is_other:
                    high = middle
                else:
                    low = middle
            changes.setdefault((low, high), {})[name] = agreements[high][name]
    places = [(history.place(low, high), benchmarks) for (low, high), benchmarks in sorted(changes.items())]
    return BisectedOutputs(
        agreements[history.last],
        tuple(OtherOutputs(place.before, place.after, place.causes, rows) for place, rows in places),
        failures,
        candidates=history.last,
        compared=len(agreements) - len(failures),
        seconds=round(RealTime.seconds() - start, 3),
    )
