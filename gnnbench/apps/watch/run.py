"""Runs a watch: compares new versions, oldest first, confirms changes and searches for their commits."""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from ...engine.drive import coordinator, settle
from ...engine.drive.bisect import bisection
from ...engine.ground.errors import UsageError
from ...engine.interfaces import Listener
from ...engine.process.plan import Plan
from ...engine.process.variants import prepare, variant
from ...engine.process.variants.variant import Prepared
from . import versions
from .state import TIMES, State, Step, changed
from .versions import Version, Watched

_INSTALLED = re.compile(r"^[^/]*\.dist-info/|(^|/)__pycache__/")
"""Files that an installation writes."""


@dataclass(frozen=True, kw_only=True)
class WatchPlan(Plan):
    """How to watch: `total_seconds` is the limit of each comparison."""

    search_seconds: float
    since: str | None = None
    """The first version to look at in a new state. None for the last but one."""
    until: str | None = None
    """The last version to look at. None for the newest."""
    anchor: str | None = None
    """A further version to compare the newest with, see `versions.anchor`."""


class Watch:
    """A watch."""

    def __init__(self, watched: Watched, state: State, plan: WatchPlan, watcher: Listener) -> None:
        self._watched, self._state, self._plan, self._watcher = watched, state, plan, watcher
        self.new: list[Step] = []

    def run(self) -> None:
        """Look at all versions since the last one; each step is saved, even if the user interrupts."""
        state, plan = self._state, self._plan
        before = state.neighbours
        last_ran = max((step.number for step in state.steps if step.ran), default=0)
        for step in state.steps:
            # In the newest steps, the network or the machine may have failed.
            self._finish(replace(step, failed={}) if step.number >= last_ran else step)
        last = before[-1].head if before else None
        new_versions = self._watched.versions(plan.since, plan.until, last)
        state.begin(self._watched.text)
        for number, head in enumerate(new_versions[1:], len(before) + 1):
            self._watcher.say(f"{head.name}: {number - len(before)} of {len(new_versions) - 1}")
            self._finish(Step(number, self._usable(new_versions[number - len(before) - 1]), head))
        self._compare_with_anchor()

    def _usable(self, before: Version) -> Version:
        """Return the base of the next version: the version before it, or the last that ran."""
        heads = [step.head for step in self._state.neighbours if "first" not in step.failed]
        failed = {step.head.name for step in self._state.neighbours if "first" in step.failed}
        return heads[-1] if heads and before.name in failed else before

    def _compare_with_anchor(self) -> None:
        """Compare the newest version with the anchor, if other code ran since the last such comparison."""
        steps = self._state.neighbours
        since = max((step.number for step in self._state.steps if step.is_anchor), default=0)
        if all(step.all_same_code for step in steps[since:]) or "first" in steps[-1].failed:
            return
        looked_at = [steps[0].base, *(step.head for step in steps if "first" not in step.failed)]
        base = versions.anchor(self._plan.anchor, looked_at, self._watched)
        if base:
            self._watcher.say(f"{steps[-1].head.name} and its anchor, {base.name}")
            self._finish(Step(len(steps), base, steps[-1].head, is_anchor=True))

    def _finish(self, step: Step) -> None:
        """Do the remaining parts of a step, and save the step after each."""
        if not step.ran and "first" not in step.failed:
            step = self._done(step, "first", lambda: self._compared(step, "first"))
        explained = self._state.explained(step) if step.is_anchor else set()
        names = [name for name in changed(step.first) if name not in explained]
        if names and step.again is None and "again" not in step.failed:
            step = self._done(step, "again", lambda: self._compared(step, "again", names))
        changed_times = [
            name
            for name, rows in step.confirmed().items()
            if all(row.judgement.verdict in TIMES for row in rows)
        ]
        if changed_times and step.search is None and "search" not in step.failed:
            self._done(step, "search", lambda: self._searched(step, changed_times))

    def _done(self, step: Step, part: str, do: Callable[[], dict[str, Any] | None]) -> Step:
        """Do a part of a step, which returns fields, or note why it failed; save the step."""
        try:
            fields = do()
        except UsageError as error:
            if not any(other.ran for other in self._state.steps):
                raise  # a wrong argument is more likely
            step = replace(step, failed={**step.failed, part: str(error)})
        else:
            if fields is None:
                return step
            step = replace(step, **fields)
        now = datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        step = replace(step, looked_at=step.looked_at or now)
        self._state.put(step)
        self.new = [*(other for other in self.new if other.file != step.file), step]
        return step

    def _compared(self, step: Step, part: str, only: Sequence[str] | None = None) -> dict[str, Any]:
        """Return the result of comparing all or some benchmarks, or the fact that no file differs."""
        plan = replace(self._plan, seed=_seed(step, *(only or ())))
        if only:
            seconds = self._seconds_each(only, plan.total_seconds)
            plan = replace(plan, only=only, per_benchmark_seconds=seconds)
        base, head = (variant.parse(version.variant) for version in (step.base, step.head))
        sides_of = partial(prepare.both, dependencies=plan.dependencies, build=plan.build)
        with sides_of(base, head, plan.folder, self._watcher) as sides:
            if self._watched.is_package and not plan.dependencies and _same_files(step, *sides):
                return {"same_files": True}
            result = settle.apply_excuses(coordinator.run(*sides, plan, self._watcher))
        if result.interrupted:
            raise KeyboardInterrupt
        return {part: result}

    def _seconds_each(self, names: Sequence[str], seconds: float) -> float:
        """Return the time limit per benchmark if only some benchmarks are compared."""
        return max(self._plan.per_benchmark_seconds, seconds / len(names))

    def _searched(self, step: Step, names: Sequence[str]) -> dict[str, Any] | None:
        """Return the bisection between two versions. Returns None if there is no repository to search."""
        ends = self._watched.ends(step.base, step.head)
        if ends is None:
            return None
        repeat = step.first and step.first.repeat
        ends_seconds = min(self._plan.total_seconds, self._plan.search_seconds / 2)
        plan = replace(
            self._plan,
            arguments=repeat.arguments(names) if repeat else self._plan.arguments,
            seed=_seed(step, *names),
            per_benchmark_seconds=self._seconds_each(names, ends_seconds),
            total_seconds=self._plan.search_seconds,
        )
        bisected = bisection.run(*ends, plan, self._watcher)
        if bisected.unfinished == bisection.INTERRUPTED:
            raise KeyboardInterrupt
        return {"search": bisected}


def _same_files(step: Step, base: Prepared, head: Prepared) -> bool:
    """Return whether two builds have the same files, except for metadata and version strings."""
    if len(base.trees) != 1 or len(head.trees) != 1:
        return False
    trees, names = (base.trees[0], head.trees[0]), (step.base.name, step.head.name)
    sizes = [
        {
            file: path.stat().st_size
            for path in tree.rglob("*")
            if path.is_file() and not _INSTALLED.search(file := str(path.relative_to(tree)))
        }
        for tree in trees
    ]

    def content(side: int, file: str) -> bytes:
        return (trees[side] / file).read_bytes().replace(names[side].encode(), b"VERSION")

    small_first = sorted(sizes[0], key=sizes[0].__getitem__)
    return sizes[0].keys() == sizes[1].keys() and all(
        content(0, file) == content(1, file) for file in small_first
    )


def _seed(step: Step, *names: str) -> int:
    """Return a seed that stays the same if a part of a step is repeated after an interruption."""
    what = step.base.variant, step.head.variant, *names
    return int.from_bytes(hashlib.sha256(repr(what).encode()).digest()[:4])
