"""Profiles benchmarks in new processes, one per side; the sides take turns call by call."""

import re
import signal
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self

from ..errors import UsageError
from ..measure.instructions.counter_choice import Watched, counter_name
from ..variants.child import end
from ..variants.pipe import ClosedError
from ..variants.startup import start

_SAID = re.compile(r"ERROR: (.+)|!+ _pytest\.outcomes\.Exit: (.+) !+")
"""A line in which pytest gives the reason for an early end."""
_TAIL_LINES = 20
_AS_IT_SHOULD = (0, 1, 5)
"""Regular exit statuses of pytest: passed; a benchmark failed; none was collected."""


@dataclass(frozen=True)
class Ended:
    """How a benchmark ended."""

    id: str
    """The pytest node id."""
    folder: Path | None
    """The folder of its profile, or None."""
    unavailable: Mapping[str, str]
    """Requested kinds that could not be taken, each with the reason."""
    failed: str | None
    """pytest's text of the failure."""
    left_out: str | None
    """Why a benchmark that did not fail has no profile."""


@dataclass(frozen=True)
class ProfiledSide:
    """The code and variables that a process starts with."""

    name: str = ""
    """For messages, if there are two sides."""
    trees: Sequence[Path] = ()
    """Import roots that precede all others; the first that has a package wins."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables to set in addition to this process's own."""


@dataclass(frozen=True)
class Wanted:
    """What to profile, and how."""

    arguments: Sequence[str]
    """pytest's arguments; no shell interprets them."""
    kinds: Sequence[str]
    """The kinds of profile."""
    repeats: int
    """Calls to profile after the first."""
    folder: Path
    """Where profiles are saved."""
    select: str | None = None
    """An operation, the first words of some, or an expression for pytest's -k; None: everything that the
    arguments select."""
    only: Sequence[str] = ()
    """Node ids of the benchmarks to profile instead of `select`; empty: use `select`."""


class ProfileProgress(Protocol):
    """Receives progress events."""

    def collected(self, titles: Sequence[str], notes: Sequence[str]) -> None:
        """Receive the titles of the benchmarks that a side will profile, and lines on how it runs them."""

    def benchmark(self, side: ProfiledSide, number: int, count: int, found: str | Ended) -> None:
        """Receive the id of a benchmark that begins, or its result; its number, from 1, and their count."""


def run(sides: Sequence[ProfiledSide], wanted: Wanted, progress: ProfileProgress) -> list[list[Ended]]:
    """Run pytest in a process per side, and profile the benchmarks that it collects.

    The processes start together. Afterwards one runs at a time and the others wait: each runs until its next
    call of a benchmark, so that the calls of the sides alternate.

    Returns:
        For each side, how its benchmarks ended; an empty list if it has no selected benchmark. If pytest
        ended early, the last entry is the benchmark that was running, as failed.

    Raises:
        UsageError: pytest rejected its arguments, or ended before a benchmark began; or instructions are
            wanted and nothing counts them here.
    """
    with ExitStack() as stack:
        processes = [stack.enter_context(_Process(side, wanted, progress)) for side in sides]
        for process in processes:
            process.collect()
        while any(process.goes_on for process in processes):
            for process in processes:
                process.take_turn()
        return [process.result() for process in processes]


class _Process:
    """The process of one side, and its messages so far."""

    def __init__(self, side: ProfiledSide, wanted: Wanted, progress: ProfileProgress) -> None:
        terms = {
            "kinds": list(wanted.kinds),
            "repeats": wanted.repeats,
            "folder": str(wanted.folder.absolute()),
            "select": wanted.select,
            "only": list(wanted.only),
        }
        self._side, self._progress = side, progress
        self._ended: list[Ended] = []
        self._running: str | None = None
        """Id of the benchmark that is running."""
        self._status: int | None = None
        """pytest's exit status; None: it has not ended regularly."""
        self._count = 0
        self.goes_on = True
        with ExitStack() as stack:
            watched = Watched({}, ())
            if "instructions" in wanted.kinds:
                counter = counter_name()
                watched = Watched.by(counter, Path(stack.enter_context(tempfile.TemporaryDirectory())))
            self._log = stack.enter_context(tempfile.TemporaryFile())
            self._process, self._link = start(
                "profile.launch",
                terms,
                wanted.arguments,
                self._log,
                trees=side.trees,
                environment={**watched.environment, **side.environment},
                under=watched.under,
            )
            stack.callback(self._link.close)
            stack.callback(end, self._process)
            self._open = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def collect(self) -> None:
        """Let it collect the benchmarks.

        Raises:
            UsageError: it ended while collecting.
        """
        self._follow()
        if not self.goes_on:
            self.result()

    def take_turn(self) -> None:
        """Let it run until it waits for its next turn, or ends."""
        if self.goes_on:
            with suppress(ClosedError):  # it was killed; `_follow` notices
                self._link.send({"goes_on": True})
            self._follow()

    def _follow(self) -> None:
        """Read its messages until it waits for a turn, or ends."""
        try:
            while (told := self._link.receive()) and "waits" not in told:
                self._take(told)
        except ClosedError:
            self.goes_on = False

    def result(self) -> list[Ended]:
        """Wait for the process to end, and return how the benchmarks ended.

        Raises:
            UsageError: it ended before a benchmark began.
        """
        status = self._process.wait()
        if self._status not in _AS_IT_SHOULD:
            why = _why(status, self._log)
            if not self._ended and (self._status is not None or not self._running):
                first, *more = why.split("\n")
                raise UsageError(f"{self._side.name}: {first}" if self._side.name else first, *more)
            self._add(Ended(self._running or "pytest", None, {}, why, None))
        return self._ended

    def _take(self, told: Mapping[str, Any]) -> None:
        if "collected" in told:
            self._count = len(told["collected"])
            self._progress.collected(told["collected"], told["notes"])
        elif "begins" in told:
            self._running = told["begins"]
            self._progress.benchmark(self._side, len(self._ended) + 1, self._count, told["begins"])
        elif "ends" in told:
            folder = told["folder"] and Path(told["folder"])
            self._add(Ended(told["ends"], folder, told["unavailable"], told["failed"], told["left_out"]))
        else:
            self._status = told["finished"]

    def _add(self, ended: Ended) -> None:
        self._running = None
        self._ended.append(ended)
        self._progress.benchmark(self._side, len(self._ended), self._count, ended)


def _why(status: int, log: IO[bytes]) -> str:
    """Return why nothing ran: in one line if pytest gives the reason, else with the end of its output."""
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()
    if errors := [found[1] or found[2] for line in lines if (found := _SAID.match(line))]:
        return errors[0].removeprefix("gnnbench: ")
    how = (
        f"was killed by {signal.Signals(-status).name}"
        if status < 0
        else f"ended early with exit status {status}"
    )
    return f"pytest {how}\n" + "\n".join(lines[-_TAIL_LINES:])
