"""The result of `gnnbench bisect`."""

import math
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...judge.schedule import Decision
from ...judge.verdict import Thresholds
from ...judge.visit import Inspections
from .followed import Change
from .line import Line, Place

FORMAT_VERSION = 1
INTERRUPTED = "interrupted"
"""Why a search ended early: the user ended it."""
_SELECTING = ("-k", "-m", "--deselect", "--ignore", "--ignore-glob")
"""Pytest's options that select tests; test ids replace them."""


@dataclass(frozen=True)
class Finding(Place):
    """A place in a line where the times of benchmarks changed."""

    changes: Mapping[str, Change]
    """By benchmark, the largest first."""
    inspections: Mapping[str, Inspections]
    """What differs between the two candidates, by benchmark; not of those that cannot be inspected."""


@dataclass(frozen=True)
class Bisected:
    """What was found on one line."""

    line: Line
    decisions: Mapping[str, Decision]
    """The verdicts on the ends, by benchmark, in the order of collection."""
    findings: tuple[Finding, ...]
    """The largest change first."""
    unmeasured: Mapping[str, str]
    """By name, candidates at which a benchmark or all could not be measured, and why."""
    pairs: int
    seconds: float
    unfinished: str | None = None
    """Why the search ended early; None: it did not."""
    notes: tuple[str, ...] = ()

    def share(self, name: str, change: Change) -> float:
        """Return how much of a benchmark's change between the ends a change on the line is, as a fraction."""
        whole = self.decisions[name].judgement.ratio or 1.0
        return math.log(change.ratio) / (math.log(whole) or math.inf)


@dataclass(frozen=True)
class BisectResult:
    """What was found on a line, and then within what was found."""

    good: str
    """As the user typed it."""
    bad: str
    arguments: tuple[str, ...]
    """Pytest's."""
    thresholds: Thresholds
    environment: Mapping[str, Any]
    stages: tuple[Bisected, ...]
    """The first is between the ends; each other within a step of an earlier one."""

    @property
    def interrupted(self) -> bool:
        """Whether the user ended it."""
        return self.unfinished == INTERRUPTED

    @property
    def unfinished(self) -> str | None:
        """Why a search ended early; None: none did."""
        return next((one.unfinished for one in reversed(self.stages) if one.unfinished), None)

    def verdicts(self) -> Counter[str]:
        """Return the number of benchmarks with each verdict on the ends."""
        return Counter(one.judgement.verdict for one in self.stages[0].decisions.values())

    def command(self, found: Finding) -> str:
        """Return the command that repeats the comparison of what changed."""
        words = ["gnnbench", "ab", found.before.variant, found.after.variant, "--", *found.changes]
        return shlex.join([*words, *pytest_options(self.arguments)])

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form, see docs/formats.md."""
        return {
            "version": FORMAT_VERSION,
            "good": self.good,
            "bad": self.bad,
            "arguments": list(self.arguments),
            "environment": dict(self.environment),
            "effect": self.thresholds.effect,
            "stages": [self._stage(stage) for stage in self.stages],
            "summary": dict(sorted(self.verdicts().items())),
            "interrupted": self.interrupted,
        }

    def _stage(self, stage: Bisected) -> dict[str, Any]:
        judgements = {name: one.judgement for name, one in stage.decisions.items()}
        fields = ("verdict", "reason", "same_code", "ratio", "low", "high")
        return {
            "kind": stage.line.kind,
            "good": stage.line.candidates[0].variant,
            "bad": stage.line.candidates[-1].variant,
            "candidates": stage.line.last,
            "benchmarks": [
                {"id": name, **{field: getattr(one, field) for field in fields}}
                for name, one in judgements.items()
            ],
            "changes": [self._change(one, stage) for one in stage.findings],
            "unmeasured": [
                {"candidate": name, "reason": reason} for name, reason in stage.unmeasured.items()
            ],
            "pairs": stage.pairs,
            "seconds": round(stage.seconds, 3),
            "unfinished": stage.unfinished,
            "notes": list(stage.notes),
        }

    def _change(self, found: Finding, stage: Bisected) -> dict[str, Any]:
        return {
            "before": found.before.variant,
            "after": found.after.variant,
            "exact": len(found.causes) == 1,
            "causes": [asdict(cause) for cause in found.causes],
            "benchmarks": [
                {
                    "id": name,
                    "ratio": one.ratio,
                    "low": one.bounds[0],
                    "high": one.bounds[1],
                    "share": round(stage.share(name, one), 4),
                    **found.inspections.get(name, Inspections()).as_json(),
                }
                for name, one in found.changes.items()
            ],
            "command": self.command(found),
        }


def pytest_options(arguments: Sequence[str]) -> Iterator[str]:
    """Return pytest's arguments without those that select tests."""
    before = ""
    for word in arguments:
        selects = word.startswith(_SELECTING) or before in _SELECTING
        is_option = before.startswith("-") or word.startswith("-")
        # Unlike pathlib's, this `exists` takes texts that cannot be paths.
        is_path = not is_option and os.path.exists(word.partition("::")[0] or ".")  # noqa: PTH110
        if not selects and not is_path:
            yield word
        before = word
