"""A binary search for the versions that changed outputs of benchmarks. `affected` compares the outputs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace

from ...ground import codec
from ...ground.cpu import RealTime
from ...ground.errors import UsageError
from ...ground.files import save
from ...interfaces import Listener
from ...judge.comparison import Agreement, not_compared
from ...judge.visit import Inspections
from ...process.plan import Plan
from ...process.variants.variant import Prepared
from .. import affected
from .bisection import INTERRUPTED, TIME_IS_USED_UP, preparer, saved_state, state_file
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
    unfinished: str | None = None
    """Why the search ended early, with a range for each change. None if it was completed."""
    version: int = 1


@dataclass(frozen=True)
class _Step:
    """The comparison of the outputs of two candidates, as it is saved."""

    base: int
    """Position of the first candidate; `head` is the position of the second one."""
    head: int
    agreements: Mapping[str, Agreement]
    """How the outputs agree, by benchmark."""


def run(good: str, bad: str, plan: Plan, watcher: Listener) -> BisectedOutputs:
    """Find the versions between two variants at which outputs changed."""
    history, plan = History.between(good, bad, plan.folder), replace(plan, results=True)
    with ExitStack() as stack:
        return _Bisection(history, preparer(history, plan, watcher, stack), plan, watcher).run()


class _Bisection:
    """A bisection in progress. `ready` prepares the candidate at a position."""

    def __init__(
        self, history: History, ready: Callable[[int], Prepared], plan: Plan, watcher: Listener
    ) -> None:
        self._history, self._ready, self._plan, self._watcher = history, ready, plan, watcher
        self._begin, self._file = RealTime.seconds(), state_file(history, plan)
        self._steps = {(step.base, step.head): step for step in saved_state(self._file, list[_Step]) or ()}
        self._differing: list[str] | None = None
        """The benchmarks whose outputs differ between the ends. None before this is known."""
        self._failures: dict[str, str] = {}
        """Why candidates could not be compared, by name."""
        self._unfinished: str | None = None

    def run(self) -> BisectedOutputs:
        """Bisect. If the user interrupts the run or the time is used up, return the results so far."""
        last = self._history.last
        if (0, last) not in self._steps:
            self._compare(0, last)
        results = self._steps[0, last].agreements
        changes: dict[tuple[int, int], dict[str, Agreement]] = {}
        self._differing = [name for name, agreement in results.items() if agreement.fails]
        for name in self._differing:
            for low, high, agreement in self._changes(name):
                changes.setdefault((low, high), {})[name] = agreement
        if not self._unfinished:
            self._file.unlink(missing_ok=True)
        spans = [(self._history.place(*span), changes[span]) for span in sorted(changes)]
        return BisectedOutputs(
            results,
            tuple(OtherOutputs(place.before, place.after, place.causes, rows) for place, rows in spans),
            self._failures,
            candidates=last,
            compared=len({head for _, head in self._steps}),
            seconds=round(RealTime.seconds() - self._begin, 3),
            unfinished=self._unfinished,
        )

    def _compare(self, base: int, head: int) -> None:
        """Compare the outputs of two candidates, and save how they agree."""
        names = [self._history.candidates[position].name for position in (base, head)]
        self._watcher.say(f"comparing outputs of {' and '.join(names)}")
        plan = replace(self._plan, only=self._differing)
        result = affected.run(self._ready(base), self._ready(head), plan, self._watcher)
        rows = {row.fullname: row.results for row in result.rows(plan.thresholds)}
        agreements = {name: rows[name] or _agreement(row) for name, row in result.benchmarks.items()}
        self._steps[base, head] = _Step(base, head, agreements)
        save(self._file, codec.as_text([*self._steps.values()]))

    def _outputs(self, name: str, base: int, head: int) -> Agreement:
        """Return how the outputs of a benchmark at two candidates agree."""
        candidate = self._history.candidates[head].name
        if (base, head) not in self._steps and candidate not in self._failures and not self._unfinished:
            try:
                if RealTime.seconds() - self._begin > self._plan.total_seconds:
                    self._unfinished = TIME_IS_USED_UP
                else:
                    self._compare(base, head)
            except KeyboardInterrupt:
                self._unfinished = INTERRUPTED
            except UsageError as error:  # the candidate cannot be built, or does not start
                self._failures[candidate] = str(error)
        step = self._steps.get((base, head))
        return (step.agreements if step else {}).get(name, not_compared("there is no such benchmark"))

    def _changes(self, name: str) -> Iterator[tuple[int, int, Agreement]]:
        """Yield the positions between which the outputs of a benchmark change, and how they then agree."""
        base, last = 0, self._history.last
        while base < last and self._outputs(name, base, last).is_different:
            low, high, skipped = base, last, set[int]()
            while between := [position for position in range(low + 1, high) if position not in skipped]:
                middle = between[len(between) // 2]
                agreement = self._outputs(name, base, middle)
                if self._unfinished:
                    break
                if agreement.status == "not compared":
                    skipped.add(middle)
                elif agreement.is_different:
                    high = middle
                else:
                    low = middle
            yield low, high, self._outputs(name, base, high)
            base = high


def _agreement(row: Inspections) -> Agreement:
    """Return the agreement of outputs that were not compared. Outputs of the same code are equal."""
    return Agreement("equal") if row.same_code else not_compared(str(row.failed))
