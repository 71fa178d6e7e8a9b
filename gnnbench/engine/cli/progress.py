"""Progress on standard error, in a terminal or in a pipe."""

import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ..ground.cpu import RealTime
from ..show.console import Console

if TYPE_CHECKING:
    from ..judge.schedule import Decision

QUIET_SECONDS = 10.0
"""In a pipe, the current step is printed if no line was printed for this long."""
_MOST_SHOWN = 20
"""Benchmarks below the progress line."""


class ErrorConsole(Console):
    """Standard error. If its reader has closed it, nothing more is printed, and the command goes on."""

    def __init__(self) -> None:
        super().__init__(stderr=True)

    def on_broken_pipe(self) -> None:
        """Print nothing from now on."""
        self.quiet = True


class Progress:
    """Shows the current step and the state of each benchmark in a terminal, and prints lines.

    In a pipe, each decision is a line. A step that `step` begins is printed at once, and again after
    QUIET_SECONDS without a line; one of `show` is not.
    """

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = RealTime.seconds) -> None:
        self._console, self._clock = console or ErrorConsole(), clock
        self._spinner = Spinner("dots")
        self._live: Live | None = None
        self._text = ""
        self._line_seconds: float | None = None
        """When a line was printed last."""
        self._begin_seconds = self._made_seconds = clock()
        self._at_most_seconds: float | None = None
        self._is_step = False
        self._told: set[str] = set()
        self._where: tuple[Mapping[str, Decision], float, float] = {}, 0.0, 0.0
        self._updated_seconds = 0.0
        self._ended = threading.Event()
        self._ticks = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        if self.in_terminal:
            self._live = Live(console=self._console, transient=True, get_renderable=self._shown)
            self._live.start()
        else:
            self._ticks.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._live:
            self._live.stop()

    @property
    def in_terminal(self) -> bool:
        """Whether the current step is visible all the time."""
        return self._console.is_terminal

    def print(self, line: str) -> None:
        """Print a line, in a terminal above the current step."""
        from ..show.lines import wrapped

        self._line_seconds = self._clock()
        width = self._console.width if self.in_terminal else None
        self._console.print(wrapped(line, width), markup=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """Print a message."""
        self.print(f"gnnbench: {text}")

    def show(self, text: str) -> None:
        """Show the current step, in a terminal only."""
        self._text, self._is_step = text, False

    def tell(self) -> None:
        """In a pipe, print the current step, unless a line was printed a short time ago."""
        first = -QUIET_SECONDS if self._is_step else self._made_seconds
        quiet_seconds = self._clock() - (first if self._line_seconds is None else self._line_seconds)
        if self._text and not self.in_terminal and quiet_seconds >= QUIET_SECONDS:
            self.say(self._line())

    def below(self, title: str) -> Callable[[str], None]:
        """Show a step; return a function that shows a line of output below it."""
        self.show(title)
        return lambda line: self.show(f"{title}\n  {line}")

    def step(self, text: str, at_most_seconds: float | None = None) -> None:
        """Show the step that begins."""
        self._at_most_seconds, self._begin_seconds = at_most_seconds, self._clock()
        self._text, self._is_step = text, True
        self.tell()

    def update(self, decisions: "Mapping[str, Decision]", spent_seconds: float, left_seconds: float) -> None:
        """Show the state of each benchmark."""
        self._where, self._updated_seconds = (decisions, spent_seconds, left_seconds), self._clock()
        if self.in_terminal:
            return
        from ..show.verdicts import newly_decided

        for line in newly_decided(decisions, self._told):
            self.print(f"{spent_seconds:.0f} s: {line}")

    @property
    def _now(self) -> tuple[Mapping[str, "Decision"], float, float]:
        """The last state, with the time that has passed since then."""
        decisions, spent_seconds, left_seconds = self._where
        passed_seconds = self._clock() - self._updated_seconds
        return decisions, spent_seconds + passed_seconds, max(left_seconds - passed_seconds, 0.0)

    def _tick(self) -> None:
        while not self._ended.wait(1.0):
            if self._is_step:
                self.tell()

    def _line(self) -> str:
        if not self._is_step:
            return self._text
        spent = f"{self._clock() - self._begin_seconds:.0f} s"
        left_seconds = 0.0 if self.in_terminal else self._now[2]
        if self._at_most_seconds:
            spent += f" of at most {self._at_most_seconds:.0f} s"
        elif left_seconds:
            spent += f"; the run: at most {left_seconds:.0f} s more"
        return f"{self._text} ({spent})"

    def _shown(self) -> RenderableType:
        self._spinner.update(text=Text(self._line()))
        return Group(self._spinner, *(_standing(*self._now) if self._where[0] else []))


def _standing(
    decisions: "Mapping[str, Decision]", spent_seconds: float, left_seconds: float
) -> list[str | Table]:
    from ..show.console import Folded
    from ..show.names import labels_in, short
    from ..show.verdicts import divided, standing

    waiting = [name for name, one in decisions.items() if not one.counts.decided]
    names = short(labels_in(decisions))
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    for _ in range(3):
        table.add_column(no_wrap=True, justify="right")
    table.add_column(no_wrap=True)
    # What is decided and is not the same comes first, then what is still measured.
    found = {name: one for name, one in decisions.items() if one.counts.decided}
    other = [name for name, one in found.items() if one.judgement.verdict != "same"]
    shown = [*other, *waiting]
    for name in shown[:_MOST_SHOWN]:
        verdict = decisions[name].judgement.verdict if name in found else ""
        table.add_row(Folded(names[name]), *standing(decisions[name]), verdict)
    more = len(shown) - _MOST_SHOWN
    done = len(decisions) - len(waiting)
    line = (
        f"{done} of {len(decisions)} decided, {spent_seconds:.0f} s spent, at most {left_seconds:.0f} s left"
    )
    same_code = divided(decisions.values())[1]
    return [
        line,
        *([same_code] if same_code else []),
        table,
        *([f"and {more} more"] if more > 0 else []),
    ]
