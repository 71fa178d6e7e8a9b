"""Finds where benchmarks began to return another result. Nothing is timed: each candidate is asked once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ... import codec
from ...clocks import RealTime
from ...errors import UsageError
from ..ab import affected
from ..ab.pairs import Watcher
from ..ab.visit import Inspections
from ..comparison import Agreement
from . import lines
from .journal import BisectSetting
from .line import Line, Place, Ready
from .result import pytest_options
from .run import ready

FORMAT_VERSION = 1


@dataclass(frozen=True)
class OtherResult(Place):
    """A place in a line where benchmarks began to return another result than the good end."""

    benchmarks: Mapping[str, Agreement]
    """How their results agree with the good end's at `after`."""


@dataclass(frozen=True)
class BisectedResults:
    """What was found."""

    line: Line
    ends: Mapping[str, Inspections]
    """What came out for each benchmark between the ends."""
    changes: tuple[OtherResult, ...]
    unmeasured: Mapping[str, str]
    """By name, candidates that could not be compared, and why."""
    compared: int
    """Number of candidates that were compared with the good end."""
    seconds: float

    @property
    def is_known(self) -> bool:
        """Whether the results of some benchmark were compared, or it runs the same code."""
        return any(_other(one) is not None for one in self.ends.values())

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form, see docs/formats.md."""
        return {
            "version": FORMAT_VERSION,
            "good": self.line.candidates[0].variant,
            "bad": self.line.candidates[-1].variant,
            "results": {name: codec.encode(one.results) for name, one in self.ends.items()},
            "changes": [
                {
                    "before": one.before.variant,
                    "after": one.after.variant,
                    "causes": [asdict(cause) for cause in one.causes],
                    "benchmarks": codec.encode(one.benchmarks),
                }
                for one in self.changes
            ],
            "unmeasured": dict(self.unmeasured),
            "seconds": round(self.seconds, 3),
        }


@dataclass
class _Searched:
    """What is known of one benchmark."""

    low: int
    """The last candidate that is known to have the good end's result."""
    high: int
    """The first one that is known to have another."""
    found: Agreement
    """At `high`."""
    unknown: set[int] = field(default_factory=set)
    """Candidates at which it cannot be compared."""


def run(
    good: str, bad: str, setting: BisectSetting, watcher: Watcher, *, skip: Sequence[str] = ()
) -> BisectedResults:
    """Find what changed the results of benchmarks between two ends.

    Args:
        good: the good end, as the user typed it.
        bad: the bad end.
        setting: how to run benchmarks.
        watcher: receives the progress.
        skip: candidates that are not to be compared.

    Raises:
        UsageError: an end cannot be used.
    """
    start = RealTime.seconds()
    line = lines.line(good, bad, setting.folder, skip=skip)
    with ready(line, setting, watcher) as candidates:
        search = _Search(line, candidates, setting, watcher)
        search.run()
    return BisectedResults(
        line,
        search.ends,
        tuple(search.changes()),
        search.unmeasured,
        search.compared,
        RealTime.seconds() - start,
    )


class _Search:
    """A binary search for each benchmark; one comparison serves all that are open at a candidate."""

    def __init__(self, line: Line, candidates: Ready, setting: BisectSetting, watcher: Watcher) -> None:
        self._line, self._ready, self._setting, self._watcher = line, candidates, setting, watcher
        self._searched: dict[str, _Searched] = {}
        self.ends: Mapping[str, Inspections] = {}
        self.unmeasured: dict[str, str] = {}
        self.compared = 0

    def run(self) -> None:
        """Compare the ends, and then candidates between them until all changes are known."""
        last = self._line.last
        self.ends = self._inspected(last, self._setting.arguments)
        self._searched = {
            name: _Searched(0, last, results)
            for name, one in self.ends.items()
            if _other(one) and (results := one.results)
        }
        while (position := next(self._open(), None)) is not None:
            names = [name for name, one in self._searched.items() if one.low < position < one.high]
            try:
                arguments = (*names, *pytest_options(self._setting.arguments))
                found = self._inspected(position, arguments)
            except UsageError as error:  # it cannot be built, or does not start
                self.unmeasured[self._line.candidates[position].name] = str(error)
                found = {}
            for name in names:
                self._take(name, position, found.get(name))

    def _open(self) -> Iterator[int]:
        """Yield the candidate in the middle of what is not known, of each benchmark."""
        for one in self._searched.values():
            left = [
                position
                for position in range(one.low + 1, one.high)
                if position not in one.unknown | self._line.skipped
            ]
            if left:
                yield left[len(left) // 2]

    def _inspected(self, position: int, arguments: Sequence[str]) -> Mapping[str, Inspections]:
        """Compare a candidate with the good end.

        Raises:
            UsageError: one of them cannot be built or run.
        """
        self._watcher.say(f"comparing the results of {self._line.candidates[position].name}")
        base, head = self._ready.get(0), self._ready.get(position)
        setting = replace(self._setting, arguments=tuple(arguments), results=True)
        found = affected.run(base, head, setting, self._watcher).benchmarks
        self._ready.forget({0, position})
        self.compared += 1
        return found

    def _take(self, name: str, position: int, found: Inspections | None) -> None:
        one, other = self._searched[name], None if found is None else _other(found)
        if found is None or other is None:
            one.unknown.add(position)
        elif other and found.results:
            one.high, one.found = position, found.results
        else:
            one.low = position

    def changes(self) -> Iterator[OtherResult]:
        """Yield the changes in the order of the line."""
        places = sorted({(one.low, one.high) for one in self._searched.values()})
        for low, high in places:
            benchmarks = {
                name: one.found for name, one in self._searched.items() if (one.low, one.high) == (low, high)
            }
            before, after = self._line.candidates[low], self._line.candidates[high]
            yield OtherResult(before, after, tuple(self._line.causes(low, high)), benchmarks)


def _other(found: Inspections) -> bool | None:
    """Return whether a benchmark has another result; None: it is not known."""
    if found.same_code:
        return False
    results = found.results
    return None if results is None or results.status == "not compared" else results.is_other
