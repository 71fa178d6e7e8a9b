"""Runs a suite's pytest in a new process and writes its run file."""

import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..errors import UsageError, one_line
from ..measure import simulated_clock
from .child import end
from .command import running

_TAIL_LINES = 20


class LateError(UsageError):
    """Pytest took too long."""


def run(
    arguments: Sequence[str],
    output: Path,
    folder: Path,
    number: int,
    progress: Callable[[str], None],
    timeout_seconds: float | None = None,
) -> None:
    """Run pytest in a new process; it never outlives this call.

    Args:
        arguments: pytest's arguments; no shell interprets them.
        output: the run file to write.
        folder: the working directory.
        number: the process's number, from 1; it seeds the simulated clock.
        progress: called with each line of output.
        timeout_seconds: the process is ended after this time; None: never.

    Raises:
        LateError: it took too long.
        UsageError: pytest failed (the message has the last lines of its output), or nothing was timed.
    """
    command = [sys.executable, "-m", "pytest", *arguments, f"--benchmark-json={output}"]
    last: deque[str] = deque(maxlen=_TAIL_LINES)
    environment = {**os.environ, **simulated_clock.reseeded(number)}
    with running(command, folder, environment, subprocess.STDOUT) as process:
        assert process.stdout
        with _ended_after(timeout_seconds, process) as late:
            for line in process.stdout:
                last.append(one_line(line.rstrip()))
                progress(last[-1])
            process.wait()
    if late.is_set():
        raise LateError(f"process {number} was stopped after {timeout_seconds:g} s", *last)
    if process.returncode:
        raise UsageError(f"process {number} failed: pytest ended with {process.returncode}", *last)
    if not output.exists():
        raise UsageError(f"process {number} timed nothing", *last)


@contextmanager
def _ended_after(seconds: float | None, process: "subprocess.Popen[str]") -> Iterator[threading.Event]:
    """End the process when this time is over, and set the event; None: never."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        end(process)

    timer = threading.Timer(seconds, stop) if seconds else None
    if timer:
        timer.daemon = True
        timer.start()
    try:
        yield late
    finally:
        if timer:
            timer.cancel()
