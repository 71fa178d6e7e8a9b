"""The state of a watch: a folder with a JSON file for each step, written as a whole or not at all."""

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

from ...engine.drive.bisect.bisection import Bisected
from ...engine.drive.bisect.history import Cause
from ...engine.drive.result import Result
from ...engine.ground import codec, json_io
from ...engine.ground.errors import UsageError
from ...engine.ground.files import save
from ...engine.judge.comparison import Compared
from .versions import Version

FORMAT_VERSION = 1
_REMEDY = "delete the file, and the same command writes a new one"
_STEP_REMEDY = "delete it and the files of later steps, and the same command compares these versions again"
TIMES = ("slower", "faster")
KINDS = (*TIMES, "more memory", "less memory", "different output")
"""The ways in which a benchmark may change."""


@dataclass(frozen=True)
class Step:
    """A comparison of a version with an earlier one."""

    number: int
    """From 1, in the order of versions."""
    base: Version
    head: Version
    is_anchor: bool = False
    """Whether the base is an anchor: a much earlier version, so that small changes add up."""
    same_files: bool = False
    """Whether both builds have the same files except for the version string, so that nothing is compared."""
    first: Result | None = None
    """The first comparison."""
    again: Result | None = None
    """The second comparison, of the benchmarks that changed."""
    search: Bisected | None = None
    """The bisection between both versions."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Why `first`, `again` or `search` is missing, by name."""
    looked_at: str = ""
    """When the step was first compared, in UTC: `2026-01-31T12:00:00Z`."""

    @property
    def all_same_code(self) -> bool:
        """Whether all benchmarks run the same code in both versions."""
        rows = self.first.rows if self.first else None
        return self.same_files if rows is None else all(row.judgement.same_code for row in rows)

    @property
    def ran(self) -> bool:
        """Whether there is a comparison, or none was needed."""
        return self.first is not None or self.same_files

    @property
    def file(self) -> str:
        """The name of the step's file."""
        name = re.sub(r"[^\w.+-]", "_", self.head.name)
        return f"{self.number:04}-{'anchor-' if self.is_anchor else ''}{name}.json"

    @property
    def seconds(self) -> float:
        """Duration of the comparisons and the search."""
        return sum((part.seconds or 0.0 for part in (self.first, self.again, self.search) if part), 0.0)

    def causes(self, name: str) -> tuple[Cause, ...]:
        """Return the cause that the search found for a benchmark's largest change, or several candidates."""
        findings = self.search.findings if self.search else ()
        return next((finding.causes for finding in findings if name in finding.changes), ())

    def confirmed(self) -> dict[str, tuple[Compared, Compared]]:
        """Return both comparisons' rows for each benchmark that changed in the same way in both."""
        second = changed(self.again)
        return {
            name: (row, second[name])
            for name, row in changed(self.first).items()
            if name in second and kinds(row) & kinds(second[name])
        }


def kinds(row: Compared) -> set[str]:
    """Return how a benchmark changed: a subset of KINDS."""
    changes: set[str] = {word for word in TIMES if row.judgement.verdict == word}
    if row.memory and row.memory.changed and not row.memory.excused:
        changes.add(row.memory.verdict)
    if row.has_different_output:
        changes.add("different output")
    return changes


def changed(result: Result | None) -> dict[str, Compared]:
    """Return the benchmarks that changed in time, memory or output, by id."""
    return {row.fullname: row for row in (result.rows if result else ()) if kinds(row)}


@dataclass(frozen=True)
class Change:
    """The benchmarks of a step whose confirmed changes have the same cause."""

    step: Step
    pairs: Mapping[str, tuple[Compared, Compared]]
    """The rows of both comparisons by id, the largest change first."""
    causes: tuple[Cause, ...]
    """The cause, or several candidates. Empty if none was found."""

    @property
    def kinds(self) -> list[str]:
        """How the benchmarks changed, in the order of KINDS."""
        names = set().union(*(kinds(row) & kinds(again) for row, again in self.pairs.values()))
        return [kind for kind in KINDS if kind in names]

    @property
    def day(self) -> str:
        """The day of the cause if it is known, otherwise the day of the version. Empty if unknown."""
        return (self.causes[0].day if len(self.causes) == 1 else "") or self.step.head.day

    @property
    def command(self) -> str:
        """The command that repeats the comparison. Empty if there is none."""
        repeat = self.step.first and self.step.first.repeat
        return repeat.commands(list(self.pairs)).ab if repeat else ""

    @property
    def slug(self) -> str:
        """A name for files and links that stays the same in later runs."""
        digest = hashlib.sha256(min(self.pairs).encode("utf-8", "surrogatepass")).hexdigest()
        return f"{self.step.file.removesuffix('.json')}-{digest[:8]}"


@dataclass(frozen=True)
class Head:
    """The content of `watch.json`."""

    version: int
    watched: str
    """What is watched, as the user typed it."""


class State:
    """The folder of a watch, and its steps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps: list[Step] = []
        """All steps by number; an anchor step comes after the ordinary step of the same number."""
        self.watched: str | None = None
        """What is watched, as the user typed it. None before the first run."""
        head = folder / "watch.json"
        if head.exists():
            content = json_io.read(head, _REMEDY)
            self.watched = codec.read(head, content, Head, FORMAT_VERSION, _REMEDY).watched
        for file in (folder / "steps").glob("*.json"):
            content = json_io.read(file, _STEP_REMEDY)
            try:
                step = codec.decode(content, Step)
            except ValueError as error:
                json_io.refuse(file, f"damaged at {error}", _STEP_REMEDY)
            self.steps.append(step)
        self.steps.sort(key=attrgetter("number", "is_anchor"))

    def begin(self, watched: str) -> None:
        """Save what is watched. Raises UsageError if the folder has another watch."""
        if self.watched not in (None, watched):
            raise UsageError(f"{self.folder} has results for {self.watched}: give another --state FOLDER")
        self.watched = watched
        save(self.folder / "watch.json", codec.as_text(Head(FORMAT_VERSION, watched)))

    def put(self, step: Step) -> None:
        """Save a step; it replaces the step with the same number and `is_anchor`."""
        save(self.folder / "steps" / step.file, codec.as_text(step))
        others = [old for old in self.steps if (old.number, old.is_anchor) != (step.number, step.is_anchor)]
        self.steps = sorted([*others, step], key=attrgetter("number", "is_anchor"))

    @property
    def neighbours(self) -> list[Step]:
        """The steps from each version to the next one: all steps except anchor steps."""
        return [step for step in self.steps if not step.is_anchor]

    def changes(self) -> list[Change]:
        """Return all changes, newest first; benchmarks of a step with the same cause are one change."""
        changes = []
        for step in reversed(self.steps):
            explained = self.explained(step) if step.is_anchor else set()
            groups: dict[tuple[Cause, ...], dict[str, tuple[Compared, Compared]]] = {}
            for name, pair in sorted(step.confirmed().items(), key=lambda item: _by_size(item[1][0])):
                if name not in explained:
                    groups.setdefault(step.causes(name), {})[name] = pair
            changes += [Change(step, pairs, causes) for causes, pairs in groups.items()]
        return changes

    def explained(self, step: Step) -> set[str]:
        """Return the benchmarks whose change in an anchor step is explained by the steps since its base."""
        numbers = {neighbour.base.name: neighbour.number for neighbour in reversed(self.neighbours)}
        if step.base.name not in numbers:
            return set()
        steps = [row for row in self.neighbours if numbers[step.base.name] <= row.number <= step.number]
        explained = set()
        for name, row in changed(step.first).items():
            rows = [neighbour.confirmed()[name][0] for neighbour in steps if name in neighbour.confirmed()]
            ratio = math.prod(neighbour.judgement.ratio or 1.0 for neighbour in rows)
            low, high = row.judgement.low or 0.0, row.judgement.high or math.inf
            if kinds(row) <= set().union(*map(kinds, rows)) and low <= ratio <= high:
                explained.add(name)
        return explained


def _by_size(row: Compared) -> float:
    """Return a sort key by which the largest change comes first."""
    return -abs(math.log(row.judgement.ratio or 1.0))
