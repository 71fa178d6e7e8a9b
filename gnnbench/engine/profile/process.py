"""Profiles benchmarks in a new process."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from ..ground.errors import UsageError
from ..ground.files import scratch
from ..measure.instructions.counting import Watched, counter_name
from ..process.variants.child import Child, DiedError, signal_name

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
class Wanted:
    """What to profile, and how."""

    arguments: Sequence[str]
    """pytest's arguments; no shell interprets them."""
    kinds: Sequence[str]
    repeats: int
    """Calls to profile after the first."""
    folder: Path
    select: str | None = None
    """An operation, the first words of some, or an expression for pytest's -k; None: everything that the
    arguments select."""


class ProfileProgress(Protocol):
    """Receives progress events."""

    def collected(self, titles: Sequence[str], notes: Sequence[str]) -> None:
        """Receive the titles of the benchmarks to profile, and lines on how they run."""

    def benchmark(self, number: int, count: int, found: str | Ended) -> None:
        """Receive the id of a benchmark that begins, or its result; its number, from 1, and their count."""


class _FinishedError(Exception):
    """pytest has ended regularly."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def run(wanted: Wanted, progress: ProfileProgress) -> list[Ended]:
    """Run pytest in a process, and profile what it collects.

    Returns:
        How the benchmarks ended; an empty list if none is selected. If pytest ended early, the last entry is
        the benchmark that was running, as failed.
    """
    with scratch() as files:
        log = files / "pytest.log"
        watched = Watched({}, ())
        if "instructions" in wanted.kinds:
            counter_name()  # or it raises
            watched = Watched.by_callgrind(files)
        with Child(
            wanted.arguments,
            environment=watched.environment,
            trees=(),
            folder=Path.cwd(),
            log=log,
            under=watched.under,
            module="engine.profile.launch",
            terms={
                "kinds": list(wanted.kinds),
                "repeats": wanted.repeats,
                "folder": str(wanted.folder.absolute()),
                "select": wanted.select,
            },
        ) as child:
            return _ended(child, log, progress)


def _ended(child: Child, log: Path, progress: ProfileProgress) -> list[Ended]:
    ended: list[Ended] = []
    names: list[str] = []
    running = None

    def add(one: Ended) -> None:
        ended.append(one)
        progress.benchmark(len(ended), len(names), one)

    try:
        told = _answer(child)
        names = told["names"]
        progress.collected(told["titles"], [*told["notes"], *told["excluded"]])
        for number, name in enumerate(names, 1):
            running, then = name, names[number] if number < len(names) else None
            progress.benchmark(number, len(names), name)
            child.send({"command": "run", "name": name, "then": then, "seed": 0})
            answer = _answer(child)
            running = None
            add(Ended.of(name, answer))
        child.quit()
        _answer(child)
    except _FinishedError as finished:
        if finished.status in _AS_IT_SHOULD and not running:
            return ended
        problem, begun = "", False
    except DiedError as error:
        problem, begun = str(error), running is not None
    why = _why(child.status(), problem, log.read_text(errors="replace"))
    if not ended and not begun:
        raise UsageError(*why.split("\n"))
    add(Ended(running or "pytest", None, {}, why, None))
    return ended


def _answer(child: Child) -> dict[str, Any]:
    answer = child.answer(math.inf)
    if answer["answer"] == "finished":
        raise _FinishedError(answer["status"])
    return answer


def _why(status: int | None, problem: str, log: str) -> str:
    """Return why nothing ran: in one line if pytest gives the reason, else with the end of its output."""
    lines = log.splitlines()
    if errors := [found[1] or found[2] for line in lines if (found := _SAID.match(line))]:
        return errors[0].removeprefix("gnnbench: ")
    if status is None:
        how = problem
    elif status < 0:
        how = f"was killed by {signal_name(-status)}"
    else:
        how = f"ended early with exit status {status}"
    return f"pytest {how}\n" + "\n".join(lines[-_TAIL_LINES:])
