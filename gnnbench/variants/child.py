"""The coordinator's end of one side: a pytest process that obeys, and is gone afterwards."""

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .pipe import ClosedError, GarbledError, Link

_PACKAGE = Path(__file__).parents[1]
_ALIAS = "gnnbench_coordinator"
_BOOT = """
import importlib.util, sys
init = sys.argv.pop(1)
spec = importlib.util.spec_from_file_location("ALIAS", init)
module = sys.modules["ALIAS"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from ALIAS.MODULE import main
main()
""".replace("ALIAS", _ALIAS)

_DOING = {
    "run": "setting it up",
    "calibrate": "calibrating",
    "block": "timing",
    "count": "counting",
    "next": "finishing it",
}
_TICK_SECONDS = 1.0
"""After which a process that ended is noticed where its children hold the pipe open."""
_END_SECONDS = 5.0
_QUIT_SECONDS = 20.0
"""For the tear-down of what the suite holds."""
_TAIL_BYTES = 1 << 14
_LONGEST_LINE = 200
_PROGRESS = re.compile(r"(\S+\.py)? ?[.FEsxX]*( +\[.*\])?")
_WAIT_POLICY = "OMP_WAIT_POLICY"


class DiedError(Exception):
    """A worker is of no use any more; says in a line what happened."""


class Process:
    """One side: an ordinary pytest process, leader of a session and a process group of its own."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str],
        trees: Sequence[Path],
        folder: Path,
        log: Path,
        pair: int = 0,
        side: int = 0,
    ) -> None:
        """Start it. To be called in a thread that lives as long as the process is needed.

        Args:
            arguments: of pytest; they never pass a shell.
            environment: changes to this process's own.
            trees: import roots whose packages come before all others; the first that has one wins.
            folder: where it runs.
            log: file for what it prints.
            pair: number of the pair that it is one of; with the side, it seeds a simulated machine.
            side: 0 or 1.
        """
        theirs_read, write = os.pipe()
        read, theirs_write = os.pipe()
        token = secrets.token_hex(8) + " "
        self._link = Link(read, write, token)
        self._log = log
        self._seen_bytes = 0
        self._doing = "starting"
        terms = {
            "read": theirs_read,
            "write": theirs_write,
            "token": token,
            "coordinator": os.getpid(),
            "trees": [str(tree) for tree in trees],
            "pair": pair,
            "side": side,
        }
        command = [*boot("compare.ab.launch"), json.dumps(terms), *arguments]
        try:
            with log.open("wb") as output:
                self._process = subprocess.Popen(  # noqa: S603
                    command,
                    cwd=folder,
                    env=_environment(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    pass_fds=(theirs_read, theirs_write),
                    start_new_session=True,
                )
        except BaseException:
            self._link.close()
            raise
        finally:
            os.close(theirs_read)
            os.close(theirs_write)
        self._open = True

    @property
    def pid(self) -> int:
        """Its process id, and that of its group."""
        return self._process.pid

    def ask(self, command: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        """Send a command and wait for the answer.

        Raises:
            DiedError: there is none.
        """
        self.send(command)
        return self.answer(timeout_seconds)

    def send(self, command: Mapping[str, Any]) -> None:
        """Send a command, without waiting for the answer.

        Raises:
            DiedError: the process has ended.
        """
        self._doing = _DOING[command["command"]]
        printed_bytes = self._log.stat().st_size
        try:
            self._link.send(command)
        except ClosedError:
            raise self._died() from None
        self._seen_bytes = printed_bytes

    def answer(self, timeout_seconds: float) -> dict[str, Any]:
        """Wait for an answer, asleep; the first comes without a command, when the suite is collected.

        Raises:
            DiedError: there is none.
        """
        deadline = time.monotonic() + timeout_seconds
        while True:
            left = deadline - time.monotonic()
            try:
                found = self._link.receive(min(_TICK_SECONDS, max(0.0, left)))
            except ClosedError:
                raise self._died() from None
            except GarbledError as error:
                raise DiedError(f"sent something that is no answer while {self._doing}: {error}") from None
            if found is not None:
                if "answer" not in found:
                    keys = ascii(", ".join(found))[1:-1][:_LONGEST_LINE]
                    raise DiedError(f"sent something that is no answer while {self._doing}: {keys}")
                return found
            if self._process.poll() is not None:
                raise self._died()
            if left <= 0:
                raise DiedError(f"did not answer for {timeout_seconds:g} s while {self._doing}")

    def quit(self) -> None:
        """Tell it to tear down and end, without waiting for that."""
        if self._open:
            with suppress(ClosedError):
                self._link.send({"command": "quit"})

    def stop(self, wait_seconds: float = 0.0) -> None:
        """End it and all that it started, for sure.

        Args:
            wait_seconds: to end by itself, having been told to.
        """
        if not self._open:
            return
        try:
            end(self._process, wait_seconds)
        finally:
            self._link.close()
            self._open = False

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Let it tear down, unless something went wrong; then end it."""
        if kind is None:
            self.quit()
        self.stop(_QUIT_SECONDS if kind is None else 0.0)

    def _died(self) -> DiedError:
        _wait(self._process, _END_SECONDS)
        status = self._process.poll()
        if status is None:
            return DiedError(f"closed its end of the pipe while {self._doing}")
        if status < 0:
            how = f"was killed by {_name(-status)}"
            if -status == signal.SIGKILL:
                how += " (as the system does when memory runs out)"
        else:
            how = f"ended with exit status {status}"
        line = self._last_line()
        return DiedError(f"{how} while {self._doing}{': ' if line else ''}{line}")

    def _last_line(self) -> str:
        """Return the last line that it printed since the last command, other than pytest's progress."""
        try:
            with self._log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(self._seen_bytes, size - _TAIL_BYTES))
                text = file.read().decode(errors="replace")
        except OSError:
            return ""
        lines = [line.strip() for line in text.splitlines()]
        lines = [line for line in lines if not _PROGRESS.fullmatch(line)]
        fatal = [line for line in lines if line.startswith("Fatal Python error")]  # before a long trace
        line = (fatal or lines or [""])[-1]
        return "".join(character if character.isprintable() else "?" for character in line)[:_LONGEST_LINE]


def boot(module: str) -> list[str]:
    """Return the command that runs `main` of a module of this package.

    The package is loaded by its file under another name: what the suite imports as gnnbench is the side's.
    """
    return [sys.executable, "-c", _BOOT.replace("MODULE", module), str(_PACKAGE / "__init__.py")]


def end(process: subprocess.Popen[Any], wait_seconds: float = 0.0) -> None:
    """End a process, the leader of its group, and all that it started, for sure.

    Args:
        process: it.
        wait_seconds: to end by itself, having been told to.
    """
    try:
        if wait_seconds:
            _wait(process, wait_seconds)
        if process.poll() is None:
            _signal(process, signal.SIGTERM)
            _wait(process, _END_SECONDS)
    finally:
        _signal(process, signal.SIGKILL)
        process.wait()


def _wait(process: subprocess.Popen[Any], seconds: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def _signal(process: subprocess.Popen[Any], number: signal.Signals) -> None:
    # The group outlives its leader where the suite left processes behind.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _environment(changes: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a worker: of this process, but for those of a pytest that it may run in."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTEST_XDIST_") and name != "PYTEST_CURRENT_TEST"
    }
    # Threads of OpenMP that wait by spinning would disturb the other side.
    return {_WAIT_POLICY: "PASSIVE", **kept, **changes}


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
