"""Runs a suite's pytest in a new process and writes its run file."""

import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import UsageError, one_line
from ..measure import simulated_clock
from .command import running

_TAIL_LINES = 20


def run(
    arguments: Sequence[str],
    output: Path,
    folder: Path,
    number: int,
    progress: Callable[[str], None],
) -> None:
    """Run pytest in a new process; it never outlives this call.

    Args:
        arguments: pytest's arguments; no shell interprets them.
        output: the run file to write.
        folder: the working directory.
        number: the process's number, from 1; it seeds the simulated clock.
        progress: called with each line of output.

    Raises:
        UsageError: pytest failed (the message has the last lines of its output), or nothing was timed.
    """
    command = [sys.executable, "-m", "pytest", *arguments, f"--benchmark-json={output}"]
    last: deque[str] = deque(maxlen=_TAIL_LINES)
    environment = {**os.environ, **simulated_clock.reseeded(number)}
    with running(command, folder, environment, subprocess.STDOUT) as process:
        assert process.stdout
        for line in process.stdout:
            last.append(one_line(line.rstrip()))
            progress(last[-1])
        process.wait()
    if process.returncode:
        raise UsageError(f"process {number} failed: pytest ended with {process.returncode}", *last)
    if not output.exists():
        raise UsageError(f"process {number} timed nothing", *last)
