"""Profiles benchmarks in a new process for each side."""

import math
import re
import signal
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from ..errors import UsageError
from ..measure.instructions.counting import Watched, counter_name
from ..variants.child import Child, DiedError

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

    @classmethod
    def of(cls, name: str, answer: Mapping[str, Any]) -> Self:
        """Return how a benchmark ended, from its worker's answer."""
        folder, failed, why = answer["folder"], answer["failed"], answer["failure"]
        left_out = None if folder or failed else why["text"] if why else "it was not profiled"
        return cls(name, folder and Path(folder), answer["unavailable"], failed, left_out)


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


class ProfileProgress(Protocol):
    """Receives progress events."""

    def collected(self, titles: Sequence[str], notes: Sequence[str]) -> None:
        """Receive the titles of the benchmarks that a side will profile, and lines on how it runs them."""

    def benchmark(self, side: ProfiledSide, number: int, count: int, found: str | Ended) -> None:
        """Receive the id of a benchmark that begins, or its result; its number, from 1, and their count."""


def run(sides: Sequence[ProfiledSide], wanted: Wanted, progress: ProfileProgress) -> list[list[Ended]]:
    """Run pytest in a process for each side, one after the other, and profile what it collects.

    Returns:
        For each side, how its benchmarks ended; an empty list if it has no selected benchmark. If pytest
        ended early, the last entry is the benchmark that was running, as failed.

    Raises:
        UsageError: pytest rejected its arguments, or ended before a benchmark began; or instructions are
            wanted and nothing counts them here.
    """
    found = []
    for side in sides:
        with ExitStack() as stack:
            process = _Process(side, wanted, progress, stack)
            process.run()
            found.append(process.ended)
    return found


class _FinishedError(Exception):
    """pytest has ended regularly."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class _Process:
    """The process of one side.

    Args:
        side: its code and variables.
        wanted: what to profile.
        progress: receives events.
        stack: ends the process.
    """

    def __init__(
        self, side: ProfiledSide, wanted: Wanted, progress: ProfileProgress, stack: ExitStack
    ) -> None:
        self._side, self._progress = side, progress
        self.ended: list[Ended] = []
        """How its benchmarks ended."""
        files = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gnnbench-profile-")))
        watched = Watched({}, ())
        if "instructions" in wanted.kinds:
            watched = Watched.by(counter_name(), files)
        self._log = files / "pytest.log"
        self._child = stack.enter_context(
            Child(
                wanted.arguments,
                environment={**watched.environment, **side.environment},
                trees=side.trees,
                folder=Path.cwd(),
                log=self._log,
                under=watched.under,
                module="profile.launch",
                terms={
                    "kinds": list(wanted.kinds),
                    "repeats": wanted.repeats,
                    "folder": str(wanted.folder.absolute()),
                    "select": wanted.select,
                },
            )
        )

    def run(self) -> None:
        """Run it to its end.

        Raises:
            UsageError: it ended before a benchmark began.
        """
        running, names = None, []
        try:
            told = self._answer()
            names = told["names"]
            self._progress.collected(told["titles"], [*told["notes"], *told["marked"]])
            for number, name in enumerate(names, 1):
                running, then = name, names[number] if number < len(names) else None
                self._progress.benchmark(self._side, number, len(names), name)
                self._child.send({"command": "run", "name": name, "then": then, "seed": 0})
                answer = self._answer()
                running = None
                self._add(Ended.of(name, answer), len(names))
            self._child.quit()
            self._answer()
        except _FinishedError as finished:
            if finished.status in _AS_IT_SHOULD and not running:
                return
            problem, begun = "", False
        except DiedError as error:
            problem, begun = str(error), running is not None
        why = _why(self._child.status(), problem, self._log.read_text(errors="replace"))
        if not self.ended and not begun:
            first, *more = why.split("\n")
            raise UsageError(f"{self._side.name}: {first}" if self._side.name else first, *more)
        self._add(Ended(running or "pytest", None, {}, why, None), len(names))

    def _answer(self) -> dict[str, Any]:
        answer = self._child.answer(math.inf)
        if answer["answer"] == "finished":
            raise _FinishedError(answer["status"])
        return answer

    def _add(self, ended: Ended, count: int) -> None:
        self.ended.append(ended)
        self._progress.benchmark(self._side, len(self.ended), count, ended)


def _why(status: int | None, problem: str, log: str) -> str:
    """Return why nothing ran: in one line if pytest gives the reason, else with the end of its output.

    Args:
        status: the exit status of the process; None: it does not end.
        problem: what is wrong with it then.
        log: pytest's output.
    """
    lines = log.splitlines()
    if errors := [found[1] or found[2] for line in lines if (found := _SAID.match(line))]:
        return errors[0].removeprefix("gnnbench: ")
    if status is None:
        how = problem
    elif status < 0:
        how = f"was killed by {signal.Signals(-status).name}"
    else:
        how = f"ended early with exit status {status}"
    return f"pytest {how}\n" + "\n".join(lines[-_TAIL_LINES:])
