"""Prints progress: on standard error of a command, or among pytest's lines."""

import math
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Self

from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from ..ground.cpu import RealTime
from ..ground.errors import printable
from ..interfaces import Listener
from .console import Console
from .lines import wrapped

if TYPE_CHECKING:
    from ..judge.schedule import Decision

QUIET_SECONDS = 10.0
"""If nothing was printed for this time, and the output is not a terminal, the current step is printed."""


class ErrorConsole(Console):
    """Standard error. If its reader has closed it, nothing more is printed, and the command goes on."""

    def __init__(self) -> None:
        super().__init__(stderr=True)

    def on_broken_pipe(self) -> None:
        """Print nothing from now on."""
        self.quiet = True


class Progress(Listener):
    """Prints notes and verdicts as lines. Below them, a terminal always shows the current step.

    If the output is no terminal, the current step is printed whenever QUIET_SECONDS passed without a line.
    """

    def __init__(
        self,
        console: Console | None = None,
        clock: Callable[[], float] = RealTime.seconds,
        write: Callable[[str], object] | None = None,
    ) -> None:
        """Print on a console, by default standard error, or pass each line to `write` if it is given."""
        self._console, self._clock, self._write = console or ErrorConsole(), clock, write
        self._spinner = Spinner("dots")
        self._live: Live | None = None
        self._text, self._detail = "", ""
        self._line_seconds = -math.inf
        """When a line was printed last."""
        self._begin_seconds, self._at_most_seconds = clock(), 0.0
        self._printed: set[str] = set()
        self._decided, self._end_seconds = "", 0.0
        self._ended = threading.Event()
        self._ticks = threading.Thread(target=self._tick, daemon=True)
        if not write and self._console.is_terminal:
            self._live = Live(console=self._console, transient=True, get_renderable=self._render)

    def __enter__(self) -> Self:
        (self._live or self._ticks).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._live:
            self._live.stop()

    def print(self, line: str) -> None:
        self._line_seconds = self._clock()
        text = wrapped(line, self._console.width if self._live else None)
        if self._write:
            self._write(text)
        else:
            self._console.print(text, markup=False, soft_wrap=True)

    def say(self, text: str) -> None:
        self.print(f"gnnbench: {text}")

    def step(self, text: str, at_most_seconds: float | None = None) -> None:
        """Show the step that begins, and the longest time that it may take."""
        self._at_most_seconds, self._begin_seconds = at_most_seconds or 0.0, self._clock()
        self._text, self._detail = text, ""
        self.remind()

    def remind(self) -> None:
        """Print the step if the output is not a terminal and no line was printed for QUIET_SECONDS."""
        if self._text and not self._live and self._clock() - self._line_seconds >= QUIET_SECONDS:
            self.say(self._line())

    def detail(self, text: str) -> None:
        self._detail = text

    def update(self, decisions: "Mapping[str, Decision]", spent_seconds: float, left_seconds: float) -> None:
        """Print each new verdict, and show how many benchmarks are decided."""
        from .verdicts import new_verdicts  # imported here because it imports numpy

        for line in new_verdicts(decisions, self._printed):
            self.print(f"{spent_seconds:.0f} s: {line}")
        self._decided = f"{len(self._printed)} of {len(decisions)} decided, " if decisions else ""
        self._end_seconds = self._clock() + left_seconds

    def _tick(self) -> None:
        """Print the step from time to time, in a thread."""
        while not self._ended.wait(1.0):
            self.remind()

    def _line(self) -> str:
        """Return the step, its duration so far, and the time limit of the step or the run."""
        now = self._clock()
        duration, left_seconds = f"{now - self._begin_seconds:.0f} s", self._end_seconds - now
        if self._at_most_seconds:
            duration += f" of at most {self._at_most_seconds:.0f} s"
        elif left_seconds > 0:
            duration += f"; the run: {self._decided}at most {left_seconds:.0f} s more"
        return f"{self._text} ({duration})"

    def _render(self) -> Spinner:
        """Return the step and its detail for the last lines of a terminal."""
        lines = filter(None, (self._line(), self._detail))
        self._spinner.update(text=Text(printable("\n  ".join(lines))))
        return self._spinner
