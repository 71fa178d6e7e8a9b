"""The result of `gnnbench bisect`."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..ab.inspections import Inspections
from ..verdict import Thresholds
from .followed import Span
from .line import Cause
from .session import Bisected

FORMAT_VERSION = 1
_SELECTING = ("-k", "-m", "--deselect", "--ignore", "--ignore-glob")
"""Pytest's options that select tests; test ids replace them."""


@dataclass(frozen=True)
class Finding:
    """A place in a line where benchmarks changed."""

    low: int
    """Position of the last candidate without the change."""
    high: int
    """Of the first one that is known to have it."""
    causes: tuple[Cause, ...]
    """What may be the cause; one, if it is known."""
    spans: Mapping[str, Span]
    """By benchmark, the largest change first."""
    inspections: Mapping[str, Inspections]
    command: str
    """Repeats the comparison."""

    @property
    def exact(self) -> bool:
        """Whether one step alone can be the cause."""
        return self.high == self.low + 1


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
        return self.stages[-1].unfinished == "interrupted"

    def verdicts(self) -> Counter[str]:
        """Return the number of benchmarks with each verdict on the ends."""
        return Counter(one.judgement.verdict for one in self.stages[0].decisions.values())

    def findings(self, stage: Bisected) -> list[Finding]:
        """Return where benchmarks changed, the largest change first."""
        return findings(stage, self.arguments)

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
        names = stage.line.candidates
        return {
            "kind": stage.line.kind,
            "good": names[0].variant,
            "bad": names[-1].variant,
            "candidates": len(names) - 1,
            "benchmarks": [
                {
                    "id": name,
                    "verdict": one.judgement.verdict,
                    "reason": one.judgement.reason,
                    "same_code": one.judgement.same_code,
                    "ratio": one.judgement.ratio,
                    "low": one.judgement.low,
                    "high": one.judgement.high,
                }
                for name, one in stage.decisions.items()
            ],
            "changes": [_change(stage, one) for one in self.findings(stage)],
            "unmeasured": [
                {"candidate": names[position].name, "reason": reason}
                for position, reason in sorted(stage.unmeasured.items())
            ],
            "pairs": stage.pairs,
            "seconds": round(stage.seconds, 3),
            "unfinished": stage.unfinished,
            "notes": list(stage.notes),
        }


def findings(stage: Bisected, arguments: Sequence[str]) -> list[Finding]:
    """Return where benchmarks changed, the largest change first.

    Args:
        stage: what was found on a line.
        arguments: pytest's.
    """
    places: dict[tuple[int, int], dict[str, Span]] = {}
    for name, spans in stage.spans.items():
        for span in spans:
            places.setdefault((span.low, span.high), {})[name] = span
    found = []
    for (low, high), spans_there in places.items():
        ordered = dict(sorted(spans_there.items(), key=lambda item: -size(item[1])))
        ends = [stage.line.candidates[position].variant for position in (low, high)]
        words = ["gnnbench", "ab", *ends, "--", *ordered, *pytest_options(arguments)]
        causes = tuple(stage.line.causes(low, high))
        inspections = stage.compared.get((low, high), {})
        found.append(Finding(low, high, causes, ordered, inspections, shlex.join(words)))
    return sorted(found, key=lambda one: -max(map(size, one.spans.values())))


def size(span: Span) -> float:
    """Return how large a change is, whatever its direction."""
    return max(span.ratio, 1 / span.ratio)


def _change(stage: Bisected, found: Finding) -> dict[str, Any]:
    return {
        "before": stage.line.candidates[found.low].variant,
        "after": stage.line.candidates[found.high].variant,
        "exact": found.exact,
        "causes": [{**asdict(cause), "moves": list(map(asdict, cause.moves))} for cause in found.causes],
        "benchmarks": [
            {
                "id": name,
                "ratio": span.ratio,
                "low": span.bounds[0],
                "high": span.bounds[1],
                **found.inspections.get(name, Inspections()).as_json(),
            }
            for name, span in found.spans.items()
        ],
        "command": found.command,
    }


def pytest_options(arguments: Sequence[str]) -> Iterator[str]:
    """Return pytest's arguments without those that select tests."""
    before = ""
    for word in arguments:
        selects = word.startswith(_SELECTING) or before in _SELECTING
        is_path = not before.startswith("-") and _exists(word.partition("::")[0])
        if not selects and not is_path:
            yield word
        before = word


def _exists(word: str) -> bool:
    try:
        return not word.startswith("-") and Path(word).exists()
    except (OSError, ValueError):
        return False
