"""Finds where benchmarks began to return another output: a binary search over `affected`'s comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...ground.cpu import RealTime
from ...ground.errors import UsageError
from ...judge.comparison import Agreement, not_compared
from ...process.pairs import Watcher
from .. import affected
from . import lines
from .journal import BisectSetting
from .line import Place
from .result import pytest_options
from .run import ready


@dataclass(frozen=True)
class OtherOutputs(Place):
    """A place in a line where outputs began to differ, and how they agree with the good end's at `after`."""

    benchmarks: dict[str, Agreement]


@dataclass(frozen=True)
class BisectedOutputs:
    """What is found, and saved."""

    results: Mapping[str, Agreement]
    """How the outputs of each benchmark agree between the ends."""
    changes: tuple[OtherOutputs, ...]
    unmeasured: Mapping[str, str]
    """By name, candidates that could not be compared, and why."""
    candidates: int
    compared: int
    """Number of candidates that were compared with the good end."""
    seconds: float
    version: int = 1


def run(
    good: str, bad: str, setting: BisectSetting, watcher: Watcher, *, skip: Sequence[str] = ()
) -> BisectedOutputs:
    """Find what changed outputs between two ends; arguments and errors are those of `run.run`."""
    start, line = RealTime.seconds(), lines.line(good, bad, setting.folder, skip=skip)
    compared: dict[int, Mapping[str, Agreement]] = {}
    unmeasured: dict[str, str] = {}
    places: dict[tuple[int, int], OtherOutputs] = {}
    with ready(line, setting, watcher) as candidates:

        def compare(position: int, arguments: Sequence[str]) -> Mapping[str, Agreement]:
            watcher.say(f"comparing the outputs of {line.candidates[position].name}")
            asked = replace(setting, arguments=tuple(arguments), results=True)
            found = affected.run(candidates.get(0), candidates.get(position), asked, watcher).benchmarks
            candidates.forget({0, position})
            equal, unknown = Agreement("equal"), not_compared("the benchmark was not inspected")
            return {name: one.results or (equal if one.same_code else unknown) for name, one in found.items()}

        ends = compared[line.last] = compare(line.last, setting.arguments)
        others = [name for name, one in ends.items() if one.is_other]
        for name in others:
            low, high, unknown = 0, line.last, set(line.skipped)
            while between := [one for one in range(low + 1, high) if one not in unknown]:
                middle = between[len(between) // 2]
                if middle not in compared:
                    try:
                        compared[middle] = compare(middle, (*others, *pytest_options(setting.arguments)))
                    except UsageError as error:  # it cannot be built, or does not start
                        compared[middle], unmeasured[line.candidates[middle].name] = {}, str(error)
                found = compared[middle].get(name)
                if found is None or found.status == "not compared":
                    unknown.add(middle)
                else:
                    low, high = (low, middle) if found.is_other else (middle, high)
            ends_of = line.candidates[low], line.candidates[high], tuple(line.causes(low, high))
            place = places.setdefault((low, high), OtherOutputs(*ends_of, {}))
            place.benchmarks[name] = compared[high][name]
    changes = tuple(places[key] for key in sorted(places))
    done, seconds = len(compared) - len(unmeasured), round(RealTime.seconds() - start, 3)
    return BisectedOutputs(ends, changes, unmeasured, line.last, done, seconds)
