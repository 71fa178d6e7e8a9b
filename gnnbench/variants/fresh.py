"""Fresh processes of a suite: pytest, run again from the beginning, its samples read back."""

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
    """Run pytest in a process of its own, and have its run file written; it never outlives this call.

    Args:
        arguments: of pytest; they never pass a shell.
        output: the run file.
        folder: where it runs.
        number: of the process, from 1: each has noise of its own on the simulated machine.
        progress: is given each line that it prints.

    Raises:
        UsageError: it failed, with the end of what it printed; or it measured nothing.
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
        raise UsageError(
            f"process {number} failed: pytest ended with {process.returncode}\n" + "\n".join(last)
        )
    if not output.exists():
        raise UsageError(f"process {number} timed nothing\n" + "\n".join(last))
