"""The progress of what `--benchmark-compare` times in turns, among pytest's own lines."""

from collections.abc import Mapping
from typing import Any

from ..ground.cpu import RealTime
from ..judge.schedule import Decision
from ..show.verdicts import newly_decided
from . import writing

_LINE_SECONDS = 10.0
"""There is at most one line on a step in this time."""


class Progress:
    """Writes each new verdict, and now and then the step that begins."""

    def __init__(self, reporter: Any) -> None:
        self._reporter = reporter
        self._line_seconds = -_LINE_SECONDS
        self._standing = ""
        self._printed: set[str] = set()

    def say(self, text: str) -> None:
        """Write a line."""
        if self._reporter:
            self._reporter.ensure_newline()
            writing.say(self._reporter, text)
            self._line_seconds = RealTime.seconds()

    def step(self, text: str, at_most_seconds: float | None = None) -> None:
        """Show the step that begins."""
        limit = f" (at most {at_most_seconds:.0f} s)" if at_most_seconds else ""
        if RealTime.seconds() - self._line_seconds > _LINE_SECONDS:
            self.say(f"{self._standing}{text}{limit}")

    def update(self, decisions: Mapping[str, Decision], spent_seconds: float, left_seconds: float) -> None:
        """Note the state of the benchmarks, and write each new verdict."""
        for line in newly_decided(decisions, self._printed):
            self.say(line)
        decided = sum(decision.counts.decided for decision in decisions.values())
        times = f"in {spent_seconds:.0f} s, at most {left_seconds:.0f} s more"
        self._standing = f"{decided} of {len(decisions)} decided {times}: "
