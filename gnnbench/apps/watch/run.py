"""Runs a watch: compares new versions, oldest first, confirms changes, and searches for their commits."""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from ...engine.drive import coordinator, settle
from ...engine.drive.bisect import bisection
from ...engine.ground.errors import UsageError
from ...engine.interfaces import Listener
from ...engine.judge.comparison import Comparison
from ...engine.process.plan import Plan
from ...engine.process.variants import prepare, variant
from ...engine.process.variants.variant import Prepared
from . import versions
from .state import TIMES, State, Step, changed
from .versions import Version, Watched

_INSTALLED = re.compile(r"^[^/]*\.dist-info/|(^|/)__pycache__/")
"""Files that an installer writes."""


@dataclass(frozen=True, kw_only=True)
class WatchPlan(Plan):
    """The plan of a watch; `total_seconds` limits each comparison, `search_seconds` each bisection."""

    search_seconds: float
    since: str | None = None
    """The base of the first step in a new state. None for the last version but one."""
    until: str | None = None
    """The last version to compare. None for the newest."""
    anchor: str | None = None
    """An older version to compare the newest one with: see `versions.anchor`."""


class Watch:
    """Compares the new versions of a package or repository, and saves each step."""

    def __init__(self, watched: Watched, state: State, plan: WatchPlan, listener: Listener) -> None:
        self._watched, self._state, self._plan, self._listener = watched, state, plan, listener
        self.new: list[Step] = []
        """The steps that this run compared."""

    def run(self) -> None:
        """Finish the steps of earlier runs, then compare the new versions, and the newest with its anchor."""
        state, plan = self._state, self._plan
        last = state.neighbours[-1] if state.neighbours else None
        new_versions = self._watched.versions(plan.since, plan.until, last.head if last else None)
        # An anchor that does not exist is refused before the first step.
        versions.anchor(plan.anchor, new_versions, self._watched)
        state.begin(self._watched.text)
        last_ran = max((step.number for step in state.steps if step.ran), default=0)
        for step in state.steps:
            # The newest steps may have failed because of the network or the machine: try again.
            self._finish(replace(step, failed={}) if step.number >= last_ran else step)
        for index, (base, head) in enumerate(pairwise(new_versions), 1):
            self._listener.say(f"{head.name}: version {index} of {len(new_versions) - 1}")
            number = index + (last.number if last else 0)
            self._finish(Step(number, self._base(base), head))
        self._compare_with_anchor()

    def _base(self, before: Version) -> Version:
        """Return the base of the next step: `before` or, if it failed to run, the last version that ran."""
        heads = [step.head for step in self._state.neighbours if "first" not in step.failed]
        failed = {step.head.name for step in self._state.neighbours if "first" in step.failed}
        return heads[-1] if heads and before.name in failed else before

    def _compare_with_anchor(self) -> None:
        """Compare the newest version with its anchor, unless no code changed since the last anchor step."""
        steps = self._state.neighbours
        since = max((step.number for step in self._state.steps if step.is_anchor), default=0)
        new = [step for step in steps if step.number > since]
        if all(step.all_same_code for step in new) or "first" in steps[-1].failed:
            return
        compared = [steps[0].base, *(step.head for step in steps if "first" not in step.failed)]
        base = versions.anchor(self._plan.anchor, compared, self._watched)
        if base:
            self._listener.say(f"comparing {steps[-1].head.name} with its anchor, {base.name}")
            self._finish(Step(steps[-1].number, base, steps[-1].head, is_anchor=True))

    def _finish(self, step: Step) -> None:
        """Run the missing parts of a step (comparison, confirmation, search); save the step after each."""
        if not step.ran and "first" not in step.failed:
            step = self._with_part(step, "first", lambda: self._compare(step, "first"))
        explained = self._state.explained(step) if step.is_anchor else set()
        names = [name for name in changed(step.first) if name not in explained]
        if names and step.again is None and "again" not in step.failed:
            step = self._with_part(step, "again", lambda: self._compare(step, "again", names))
        changed_times = [
            name
            for name, rows in step.confirmed().items()
            if all(row.judgement.verdict in TIMES for row in rows)
        ]
        if changed_times and step.search is None and "search" not in step.failed:
            self._with_part(step, "search", lambda: self._search(step, changed_times))

    def _with_part(self, step: Step, part: str, run: Callable[[], dict[str, Any] | None]) -> Step:
        """Add to a step the fields that `run` returns, or why `run` failed; save and return the step."""
        try:
            fields = run()
        except UsageError as error:
            if not any(other.ran for other in self._state.steps):
                raise  # if no step ever ran, an argument is probably wrong
            step = replace(step, failed={**step.failed, part: str(error)})
        else:
            if fields is None:
                return step
            step = replace(step, **fields)
        if step.ran and step in self._state.steps:
            return step  # it failed before, for the same reason
        now = datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        step = replace(step, looked_at=step.looked_at or now)
        self._state.put(step)
        self.new = [*(other for other in self.new if other.file != step.file), step]
        return step

    def _compare(self, step: Step, part: str, only: Sequence[str] | None = None) -> dict[str, Any]:
        """Compare the versions of a step; return the step's new field: `part`, or `same_files`."""
        plan = replace(self._plan, seed=_seed(step, *(only or ())))
        if only:
            seconds = max(plan.per_benchmark_seconds, plan.total_seconds / len(only))
            plan = replace(plan, only=only, per_benchmark_seconds=seconds)
        base, head = (variant.parse(version.variant) for version in (step.base, step.head))
        sides_of = partial(prepare.both, dependencies=plan.dependencies, build=plan.build)
        with sides_of(base, head, plan.folder, self._listener) as sides:
            if self._watched.is_package and not plan.dependencies and _same_files(step, *sides):
                return {"same_files": True}
            result = settle.apply_excuses(coordinator.run(*sides, plan, self._listener))
        if result.interrupted:
            raise KeyboardInterrupt
        return {part: result}

    def _search(self, step: Step, names: Sequence[str]) -> dict[str, Any] | None:
        """Bisect between the versions of a step. Returns None if there is no repository to search."""
        ends = self._watched.ends(step.base, step.head)
        if ends is None:
            return None
        repeat = step.first and step.first.repeat
        compared = None
        if step.again and ends == (step.base.variant, step.head.variant):
            rows = [row for row in step.again.rows if row.fullname in names]
            compared = replace(step.again, comparison=Comparison(rows))
        ends_seconds = min(self._plan.total_seconds, self._plan.search_seconds / 2)
        plan = replace(
            self._plan,
            arguments=repeat.arguments(names) if repeat else self._plan.arguments,
            seed=_seed(step, *names),
            per_benchmark_seconds=max(self._plan.per_benchmark_seconds, ends_seconds / len(names)),
            total_seconds=self._plan.search_seconds,
        )
        bisected = bisection.run(*ends, plan, self._listener, compared)
        if bisected.unfinished == bisection.INTERRUPTED:
            raise KeyboardInterrupt
        return {"search": bisected}


def _same_files(step: Step, base: Prepared, head: Prepared) -> bool:
    """Return whether two builds have the same files, except for metadata and version strings."""
    if len(base.trees) != 1 or len(head.trees) != 1:
        return False
    return _hashes(base.trees[0], step.base.name) == _hashes(head.trees[0], step.head.name)


def _hashes(tree: Path, version: str) -> dict[str, bytes]:
    """Return a hash of each file of a build, by path. The name of the version is not hashed."""
    is_unique = version.count(".") > 1  # a version such as 1.5 may also be a number in the code
    hashes = {}
    for path in tree.rglob("*"):
        file = str(path.relative_to(tree))
        if path.is_file() and not _INSTALLED.search(file):
            content = path.read_bytes()
            content = content.replace(version.encode(), b"VERSION") if is_unique else content
            hashes[file] = hashlib.sha256(content).digest()
    return hashes


def _seed(step: Step, *names: str) -> int:
    """Return a seed that is the same when a part of a step is repeated after an interruption."""
    identity = step.base.variant, step.head.variant, *names
    return int.from_bytes(hashlib.sha256(repr(identity).encode()).digest()[:4])
