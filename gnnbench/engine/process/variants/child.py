"""The coordinator's view of its pytest processes, which take commands and answer them.

The coordinator is the process of the command that compares both sides, such as `gnnbench ab`.
"""

import json
import os
import re
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from ...ground.cpu import RealTime
from ...ground.errors import one_line
from .command import END_SECONDS, kill_group, wait
from .import_roots import Trees
from .pipe import ClosedError, Link

SIDES = ("base", "head")
_TOGETHER = "engine.process.together"
"""The module that runs in a process with several sessions of pytest."""
_ACTIVITIES = {
    "fork": "starting",
    "reap": "waiting for a fork",
    "run": "setting up the benchmark",
    "calibrate": "calibrating",
    "block": "timing",
    "turns": "timing",
    "inspect": "inspecting",
    "cost": "measuring the cost of a call",
    "return": "comparing outputs",
    "save": "comparing outputs",
    "count": "counting instructions",
    "next": "finishing the benchmark",
}
"""What a process does after each command, for messages."""
_TICK_SECONDS = 1.0
"""How often to check whether the process has ended: its own children may keep the pipe open."""
QUIT_SECONDS = 20.0
"""Time for tear-down after `quit`."""
_TAIL_BYTES = 1 << 14
"""How much of a log's end is searched for the reason why a process ended."""
_LONGEST_LINE = 200
_PROGRESS = re.compile(r"(\S+\.py)? ?[.FEsxX]*( +\[.*\])?|=+ .* =+|mainloop: .*|\(to show .*")
"""A line that gives no reason: pytest's progress, a heading, a hint on its options, or an empty line."""
_REASON = re.compile(r"Fatal Python error|\S+: error: ")
"""Beginnings of lines that say why a process ended. They need not be the last lines."""
_DEFAULTS = {
    "OMP_WAIT_POLICY": "PASSIVE",  # idle OpenMP threads that spin would disturb the other side
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # else torch.cuda.is_available() keeps forks from using the GPU
}
"""Environment variables of a child, unless the user sets them."""
_PACKAGE = Path(__file__).parents[3]
_ALIAS = "gnnbench_coordinator"
_BOOT = """
import importlib.util, sys
init = sys.argv.pop(1)
spec = importlib.util.spec_from_file_location("ALIAS", init)
module = sys.modules["ALIAS"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from ALIAS.engine.process.variants.startup import begin
begun = begin()
from ALIAS.MODULE import main  # only now, as a side may have its own version of what MODULE imports
main(*begun)
""".replace("ALIAS", _ALIAS)
"""Imports this package under another name, so that the same code measures both sides, while tests import the
side's gnnbench. So all modules that a child needs import each other relatively. The path of the package's
file has a "." in it, by which profilers tell its functions from those of a side with the same files."""


class DiedError(Exception):
    """A process cannot be used any more; the message is one line with its side and the reason."""

    def __init__(self, side: str, reason: str) -> None:
        super().__init__(f"{side}: {reason}" if side else reason)
        self.side = side


class Process(ABC):
    """A process of one side that takes commands, and that leads a process group."""

    pid: int
    """The process id, which is also the id of the process group."""

    def __init__(self, side: str, log: Path, link: Link) -> None:
        self._side, self._log, self._link = side, log, link
        self._log_start = 0
        self._activity = "starting"
        self._open = True

    @abstractmethod
    def status(self, wait_seconds: float = END_SECONDS) -> int | None:
        """Return the exit status, or -N if signal N killed the process. Returns None if it does not end."""

    def stop(self, wait_seconds: float = 0.0) -> None:
        """End the process and all that it started, after it had `wait_seconds` to end by itself."""
        if not self._open:
            return
        try:
            if self.status(wait_seconds) is None:
                kill_group(self.pid, signal.SIGTERM)
                self.status()
        finally:
            kill_group(self.pid)
            self._link.close()
            self._open = False

    def send(self, command: Mapping[str, Any], descriptor: int | None = None) -> None:
        """Send a command, and perhaps a file descriptor; do not wait for the answer."""
        self._activity = _ACTIVITIES[command["command"]]
        printed_bytes = self._log.stat().st_size
        try:
            self._link.send(command, descriptor)
        except ClosedError:
            raise self._death() from None
        self._log_start = printed_bytes

    def answer(self, timeout_seconds: float) -> dict[str, Any]:
        """Wait for the next answer and return it. The first one comes after collection, without a command."""
        deadline = RealTime.seconds() + timeout_seconds
        while True:
            remaining_seconds = deadline - RealTime.seconds()
            try:
                answer = self._link.receive(min(_TICK_SECONDS, max(0.0, remaining_seconds)))
            except ClosedError:
                raise self._death() from None
            if answer is not None:
                return answer
            if self.status(0.0) is not None:
                raise self._death()
            if remaining_seconds <= 0:
                limit = f"for {timeout_seconds:.3g} s" if timeout_seconds > 0 else "within the run's time"
                raise DiedError(self._side, f"did not answer {limit} while {self._activity}")

    def quit(self) -> None:
        """Tell the process to tear down and end; do not wait for it."""
        if self._open:
            with suppress(ClosedError):
                self._link.send({"command": "quit"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.quit()
        self.stop(QUIT_SECONDS if kind is None else 0.0)

    def _death(self) -> DiedError:
        status = self.status()
        if status is None:
            return DiedError(self._side, f"closed its end of the pipe while {self._activity}")
        if status < 0:
            names = {member.value: member.name for member in signal.Signals}
            event = f"was killed by {names.get(-status, f'signal {-status}')}"
            if -status == signal.SIGKILL:
                event += " (possibly because memory ran out)"
        else:
            event = f"ended with exit status {status}"
        line = self._last_line()
        return DiedError(self._side, f"{event} while {self._activity}{': ' if line else ''}{line}")

    def _last_line(self) -> str:
        """Return the last line printed since the last command, preferably one that gives a reason."""
        text = self._log.read_bytes()[self._log_start :][-_TAIL_BYTES:].decode(errors="replace")
        lines = [line.strip().removeprefix("E   ") for line in text.splitlines()]
        lines = [line for line in lines if not _PROGRESS.fullmatch(line)]
        reasons = [line for line in lines if _REASON.match(line)]
        line = (reasons or lines or [""])[-1]
        return one_line(line)[:_LONGEST_LINE]


class Child(Process):
    """A new pytest process, in an operating-system session of its own."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str],
        trees: Trees,
        folder: Path,
        log: Path,
        sessions: Sequence[tuple[int, Trees]] = (),
        pair: int = 0,
        side: str = "",
        under: Sequence[str] = (),
        module: str = "engine.process.worker",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Start the process; the thread that calls this must outlive the process.

        `arguments`: those of pytest. `trees`: the import finder. `sessions`: the side (0 or 1) and the import
        finder of each session, if pytest runs several in the process. `under`: a command that runs the
        process, such as `valgrind`. `module`: what runs in the process. `settings`: what this module reads.
        """
        files = []
        for number, part in enumerate([part for _, part in sessions] or [trees]):
            files.append(str(log.with_suffix(f".trees{number or ''}")))
            part.save(files[-1])
        child_end, link = Link.pair()
        super().__init__(side, log, link)
        python = [
            *under,
            sys.executable,
            "-c",
            _BOOT.replace("MODULE", _TOGETHER if sessions else module),
            os.path.join(_PACKAGE.parent, ".", _PACKAGE.name, "__init__.py"),  # noqa: PTH118 - pathlib removes "."
        ]
        message = {
            "link": child_end,
            "coordinator": os.getpid(),
            "trees": files[0],
            "sessions": [(number, file) for (number, _), file in zip(sessions, files, strict=False)],
            "pair": pair,
            "side": int(side == SIDES[1]),
            **(settings or {}),
        }
        try:
            with log.open("wb") as output:
                self._process = subprocess.Popen(  # noqa: S603
                    [*python, json.dumps(message), *arguments],
                    cwd=folder,
                    env=_environment(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    pass_fds=(child_end,),
                    start_new_session=True,
                )
        finally:
            os.close(child_end)
        self.pid = self._process.pid

    def status(self, wait_seconds: float = END_SECONDS) -> int | None:
        wait(self._process, wait_seconds)
        return self._process.poll()

    def stop(self, wait_seconds: float = 0.0) -> None:
        """End the process, and release its process id."""
        super().stop(wait_seconds)
        self._process.wait()

    def fork(self, pair: int, index: int, timeout_seconds: float) -> "Forked":
        """Return a new fork for the base (`index` 0) or the head (1) of a pair; it first answers `forked`."""
        fork_end, link = Link.pair()
        try:
            self.send({"command": "fork", "pair": pair, "index": index}, fork_end)
            return Forked(self, self.answer(timeout_seconds)["pid"], self._side, self._log, link)
        except BaseException:
            link.close()
            raise
        finally:
            os.close(fork_end)


class Forked(Process):
    """A fork of a pytest process that has collected the suite and run no test."""

    def __init__(self, parent: Child, pid: int, side: str, log: Path, link: Link) -> None:
        super().__init__(side, log, link)
        self._parent, self.pid = parent, pid
        self._status: int | None = None

    def status(self, wait_seconds: float = END_SECONDS) -> int | None:
        """Ask the parent process for the exit status of the fork, and return it."""
        if self._status is None:
            try:
                self._parent.send({"command": "reap", "pid": self.pid, "seconds": wait_seconds})
                self._status = self._parent.answer(wait_seconds + END_SECONDS)["status"]
            except DiedError:  # a fork ends with its parent
                self._status = -signal.SIGKILL
        return self._status


def _environment(changes: Mapping[str, str]) -> dict[str, str]:
    """Return a child's environment variables, without those of a pytest session in which gnnbench may run."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTEST_XDIST_") and name != "PYTEST_CURRENT_TEST"
    }
    return {**_DEFAULTS, **inherited, **changes}
