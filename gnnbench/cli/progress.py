"""What `gnnbench ab` shows while it runs."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from .. import units

if TYPE_CHECKING:
    from ..compare.ab.schedule import Decision

QUIET_SECONDS = 10.0
"""In a pipe: after so long without a line the current step is told."""
_MOST_SHOWN = 20
"""Benchmarks below the progress line."""


class ErrorConsole(Console):
    """Standard error. Where nobody reads it any more, nothing is shown, and the command goes on."""

    def __init__(self) -> None:
        super().__init__(highlight=False, stderr=True)

    def on_broken_pipe(self) -> None:
        """Show nothing from here on."""
        self.quiet = True


@dataclass(frozen=True)
class _Step:
    text: str
    at_most_seconds: float | None
    begin_seconds: float

    def line(self, now_seconds: float, left_seconds: float = 0.0) -> str:
        """Say what it is, how long it has been going on, and how long it takes at most, or else the run."""
        spent = f"{now_seconds - self.begin_seconds:.0f} s"
        if self.at_most_seconds:
            return f"{self.text} ({spent} of at most {self.at_most_seconds:.0f} s)"
        return (
            f"{self.text} ({spent}{f'; the run: at most {left_seconds:.0f} s more' if left_seconds else ''})"
        )


class AbProgress:
    """Shows the current step, and how far each benchmark is.

    In a terminal: each benchmark's interval as it closes in, above it the step, with its seconds. In a pipe:
    a line for each decision, and one for the current step where there was no line for QUIET_SECONDS.

    Args:
        console: where it is shown.
        clock: seconds.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._told: set[str] = set()
        self._step: _Step | None = None
        self._where: tuple[Mapping[str, Decision], float, float] = {}, 0.0, 0.0
        self._line_seconds = -QUIET_SECONDS
        self._live = Live(console=console, transient=True, get_renderable=self._shown)
        self._ended = threading.Event()
        self._ticks = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        else:
            self._ticks.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()
        self._ended.set()

    def say(self, text: str) -> None:
        """Print a line, above what is shown."""
        self._print(f"gnnbench: {text}")

    def step(self, text: str, at_most_seconds: float | None = None) -> None:
        """Show the step that begins."""
        self._step = _Step(text, at_most_seconds, self._clock())
        self.tell()

    def tell(self) -> None:
        """In a pipe, say what the current step is, unless there was a line a short time ago."""
        now = self._clock()
        if self._step and not self._console.is_terminal and now - self._line_seconds >= QUIET_SECONDS:
            self.say(self._step.line(now, self._where[2]))

    def update(self, decisions: "Mapping[str, Decision]", spent_seconds: float, left_seconds: float) -> None:
        """Show where each benchmark stands."""
        self._where = decisions, spent_seconds, left_seconds
        if self._console.is_terminal:
            return
        for name, decision in decisions.items():
            if decision.decided and name not in self._told:
                self._told.add(name)
                line = " ".join(filter(None, (*_cells(decision)[::-1], name)))
                self._print(f"{spent_seconds:.0f} s: {line}")

    def _print(self, line: str) -> None:
        self._line_seconds = self._clock()
        self._console.print(line, markup=False, soft_wrap=True)

    def _tick(self) -> None:
        while not self._ended.wait(1.0):
            self.tell()

    def _shown(self) -> Group:
        step = Text(self._step.line(self._clock()) if self._step else "")
        return Group(step, *(_standing(*self._where) if self._where[0] else []))


def _standing(
    decisions: "Mapping[str, Decision]", spent_seconds: float, left_seconds: float
) -> list[str | Table]:
    waiting = {name: one for name, one in decisions.items() if not one.decided}
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for _ in range(3):
        table.add_column(no_wrap=True, justify="right")
    for name in list(waiting)[:_MOST_SHOWN]:
        table.add_row(escape(name), *_cells(waiting[name])[:3])
    more = len(waiting) - _MOST_SHOWN
    done = len(decisions) - len(waiting)
    line = (
        f"{done} of {len(decisions)} decided, {spent_seconds:.0f} s spent, at most {left_seconds:.0f} s left"
    )
    return [line, table, *([f"and {more} more"] if more > 0 else [])]


def _cells(decision: "Decision") -> Sequence[str]:
    """Return pairs, interval, ratio and verdict."""
    found = decision.judgement
    return (
        f"{decision.pairs} pairs",
        units.interval(found.low, found.high, 3),
        "" if found.ratio is None else f"{found.ratio:.3f}x",
        found.verdict,
    )
