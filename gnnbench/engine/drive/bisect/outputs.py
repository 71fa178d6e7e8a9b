"""A binary search for the versions that changed outputs of benchmarks. `affected` compares the outputs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from ...ground.cpu import RealTime
from ...ground.errors import UsageError
from ...interfaces import Listener
from ...judge.comparison import Agreement, not_compared
from ...judge.visit import Inspections
from ...process.plan import Plan
from .. import affected
from .bisection import preparer
from .history import History, Place


@dataclass(frozen=True)
class OtherOutputs(Place):
    """Two candidates between which outputs changed."""

    benchmarks: dict[str, Agreement]
    """How the outputs of `after` agree with those before the change, by benchmark."""


@dataclass(frozen=True)
class BisectedOutputs:
    """Where outputs changed between the good end and the bad end."""

    results: Mapping[str, Agreement]
    """How the outputs of the two ends agree, by benchmark."""
    changes: tuple[OtherOutputs, ...]
    unmeasured: Mapping[str, str]
    """Why candidates could not be compared, by name of the candidate."""
    candidates: int
    """Number of candidates, without the good end."""
    compared: int
    """Number of candidates whose outputs were compared."""
    seconds: float
    version: int = 1


def run(good: str, bad: str, plan: Plan, watcher: Listener) -> BisectedOutputs:
    """Find the versions between two variants at which outputs changed."""
    start, history = RealTime.seconds(), History.between(good, bad, plan.folder)
    plan, last, candidates = replace(plan, results=True), history.last, history.candidates
    agreements: dict[tuple[int, int], Mapping[str, Agreement]] = {}
    failures: dict[str, str] = {}
    changes: dict[tuple[int, int], dict[str, Agreement]] = {}
    with ExitStack() as stack:
        ready = preparer(history, plan, watcher, stack)

        def compare(base: int, head: int, names: Sequence[str] | None = None) -> Mapping[str, Agreement]:
            watcher.say(f"comparing outputs of {candidates[base].name} and {candidates[head].name}")
            result = affected.run(ready(base), ready(head), replace(plan, only=names), watcher)
            rows = {row.fullname: row.results for row in result.rows(plan.thresholds)}
            return {name: rows[name] or _agreement(row) for name, row in result.benchmarks.items()}

        def outputs(name: str, base: int, head: int) -> Agreement:
            if (base, head) not in agreements:
                try:
                    agreements[base, head] = compare(base, head, differing)
                except UsageError as error:  # the candidate cannot be built, or does not start
                    agreements[base, head], failures[candidates[head].name] = {}, str(error)
            return agreements[base, head].get(name, not_compared("there is no such benchmark"))

        agreements[0, last] = compare(0, last)
        differing = [name for name, agreement in agreements[0, last].items() if agreement.fails]
        for name in differing:
            for low, high, agreement in _changes(partial(outputs, name), last):
                changes.setdefault((low, high), {})[name] = agreement
    spans = [(history.place(*span), changes[span]) for span in sorted(changes)]
    return BisectedOutputs(
        agreements[0, last],
        tuple(OtherOutputs(place.before, place.after, place.causes, rows) for place, rows in spans),
        failures,
        candidates=last,
        compared=len({head for _, head in agreements}) - len(failures),
        seconds=round(RealTime.seconds() - start, 3),
    )


def _agreement(row: Inspections) -> Agreement:
    """Return how outputs agree that were not compared: those of the same code are equal."""
    return Agreement("equal") if row.same_code else not_compared(str(row.failed))


def _changes(outputs: Callable[[int, int], Agreement], last: int) -> Iterator[tuple[int, int, Agreement]]:
    """Yield the positions between which outputs change. `outputs`: how those of two positions agree."""
    base = 0
    while base < last and outputs(base, last).is_different:
        low, high, skipped = base, last, set[int]()
        while between := [position for position in range(low + 1, high) if position not in skipped]:
            middle = between[len(between) // 2]
            agreement = outputs(base, middle)
            if agreement.status == "not compared":
                skipped.add(middle)
            elif agreement.is_different:
                high = middle
            else:
                low = middle
        yield low, high, outputs(base, high)
        base = high
