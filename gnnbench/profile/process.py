"""Fresh processes that run benchmarks and profile them, one of each side, which take turns."""

import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self

from ..errors import UsageError
from ..variants.child import boot, end

_SAID = re.compile(r"ERROR: (.+)|!+ _pytest\.outcomes\.Exit: (.+) !+")
"""A line in which pytest says why it does not begin, or why it ends."""
_TAIL_LINES = 20
_AS_IT_SHOULD = (0, 1, 5)
"""pytest's exit statuses: passed; a benchmark failed, which it says itself; none was collected."""


@dataclass(frozen=True)
class Ended:
    """How a benchmark ended."""

    id: str
    """pytest's."""
    folder: Path | None
    """Of its profile; None: there is none."""
    unavailable: Mapping[str, str]
    """Kinds that were asked for as well: what they need."""
    failed: str | None
    """What pytest shows of it."""
    left_out: str | None
    """Why there is no profile of one that did not fail."""


@dataclass(frozen=True)
class Side:
    """What a process is started with."""

    name: str = ""
    """Of one of several."""
    trees: Sequence[Path] = ()
    """Import roots whose packages come before all others; the first that has one wins."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Changes to this process's own."""


@dataclass(frozen=True)
class Wanted:
    """What is profiled, and how."""

    arguments: Sequence[str]
    """Of pytest; they never pass a shell."""
    kinds: Sequence[str]
    """Of profiles."""
    repeats: int
    """Calls after the first."""
    folder: Path
    """Where profiles are saved."""
    select: str | None = None
    """An operation, the first words of some, or an expression as after pytest's -k; None: all that the
    arguments select."""
    only: Sequence[str] = ()
    """Pytest's ids of the benchmarks that are meant, whatever is selected; none: that."""


class Progress(Protocol):
    """Is told what goes on."""

    def collected(self, titles: Sequence[str]) -> None:
        """Take what the benchmarks are called that a side is going to profile."""

    def benchmark(self, side: Side, number: int, count: int, found: str | Ended) -> None:
        """Take the id of a benchmark that begins, or how it ended; and its number of how many, from 1."""


def run(sides: Sequence[Side], wanted: Wanted, progress: Progress) -> list[list[Ended]]:
    """Run pytest in a process for each side, and profile the benchmarks that it collects.

    They start together. From then on one works at a time and the others sleep: each in turn goes on until its
    next call of a benchmark, so that the calls of the sides alternate.

    Returns:
        Of each side how its benchmarks ended; nothing where it has none that is wanted. Where pytest ended
        before its time, the one that had begun is the last, and failed.

    Raises:
        UsageError: pytest refused its arguments, or ended before a benchmark began.
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
    """One side, and what it told so far."""

    def __init__(self, side: Side, wanted: Wanted, progress: Progress) -> None:
        """Start it."""
        read, theirs_write = os.pipe()
        theirs_read, write = os.pipe()
        terms = {
            "read": theirs_read,
            "write": theirs_write,
            "coordinator": os.getpid(),
            "kinds": list(wanted.kinds),
            "repeats": wanted.repeats,
            "folder": str(wanted.folder.absolute()),
            "trees": [str(tree) for tree in side.trees],
            "select": wanted.select,
            "only": list(wanted.only),
        }
        self._side, self._progress = side, progress
        self._ended: list[Ended] = []
        self._running: str | None = None
        """The benchmark that has begun and not ended."""
        self._status: int | None = None
        """pytest's; None: it did not come to that."""
        self._count = 0
        self.goes_on = True
        with ExitStack() as stack:
            self._pipe = stack.enter_context(os.fdopen(read, encoding="utf-8"))
            self._turns = stack.enter_context(os.fdopen(write, "wb", buffering=0))
            self._log = stack.enter_context(tempfile.TemporaryFile())
            try:
                self._process = subprocess.Popen(  # noqa: S603
                    [*boot("profile.launch"), json.dumps(terms), *wanted.arguments],
                    env={**os.environ, **side.environment},
                    stdin=subprocess.DEVNULL,
                    stdout=self._log,
                    stderr=subprocess.STDOUT,
                    pass_fds=(theirs_read, theirs_write),
                    start_new_session=True,  # Ctrl-C comes once, from here
                )
            finally:
                os.close(theirs_read)
                os.close(theirs_write)
            stack.callback(end, self._process)
            self._open = stack.pop_all()

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it, and all that it started."""
        self._open.close()

    def collect(self) -> None:
        """Let it collect the benchmarks.

        Raises:
            UsageError: it ended before.
        """
        self._follow()
        if not self.goes_on:
            self.result()

    def take_turn(self) -> None:
        """Let it go on until it waits for its next turn, or ends."""
        if self.goes_on:
            with suppress(BrokenPipeError):  # it was killed, which the other pipe tells
                self._turns.write(b"\n")
            self._follow()

    def _follow(self) -> None:
        """Take what it tells until it waits for a turn, or ends."""
        for line in iter(self._pipe.readline, ""):
            told = json.loads(line)
            if "waits" in told:
                return
            self._take(told)
        self.goes_on = False

    def result(self) -> list[Ended]:
        """Return how the benchmarks ended, when the process has.

        Raises:
            UsageError: it ended before a benchmark began.
        """
        status = self._process.wait()
        if self._status not in _AS_IT_SHOULD:
            why = _why(status, self._log)
            if not self._ended and (self._status is not None or not self._running):
                raise UsageError(f"{self._side.name}: {why}" if self._side.name else why)
            self._add(Ended(self._running or "pytest", None, {}, why, None))
        return self._ended

    def _take(self, told: Mapping[str, Any]) -> None:
        if "collected" in told:
            self._count = len(told["collected"])
            self._progress.collected(told["collected"])
        elif "begins" in told:
            self._running = told["begins"]
            self._progress.benchmark(self._side, len(self._ended) + 1, self._count, told["begins"])
        elif "ends" in told:
            folder = told["folder"] and Path(told["folder"])
            self._add(Ended(told["ends"], folder, told["unavailable"], told["failed"], told["left_out"]))
        else:
            self._status = told["finished"]

    def _add(self, ended: Ended) -> None:
        """Note how a benchmark ended, and say so."""
        self._running = None
        self._ended.append(ended)
        self._progress.benchmark(self._side, len(self._ended), self._count, ended)


def _why(status: int, log: IO[bytes]) -> str:
    """Say in a line, where pytest does, why nothing ran."""
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()
    if errors := [found[1] or found[2] for line in lines if (found := _SAID.match(line))]:
        return errors[0].removeprefix("gnnbench: ")
    how = (
        f"was killed by {signal.Signals(-status).name}"
        if status < 0
        else f"ended with {status}, in the middle"
    )
    return f"pytest {how}\n" + "\n".join(lines[-_TAIL_LINES:])
