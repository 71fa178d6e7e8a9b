"""Commands such as git and pip: child processes that are ended for sure, and what they complained of."""

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from gnnbench.errors import one_line

_END_SECONDS = 5.0


def call(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end; where this is interrupted, end it with all that it started.

    Args:
        command: program and arguments; they never pass a shell.
        folder: where it runs.
        environment: all its variables.

    Raises:
        OSError: it cannot be started.
    """
    started: Future[subprocess.Popen[str]] = Future()

    def start() -> None:
        try:
            process = subprocess.Popen(  # noqa: S603
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="surrogateescape",
                start_new_session=True,
            )
        except OSError as error:
            started.set_exception(error)
        else:
            started.set_result(process)

    try:
        # Ctrl-C interrupts the main thread alone: in another no process is started and then forgotten.
        threading.Thread(target=start, daemon=True).start()
        output, errors = started.result().communicate()
    except OSError:
        raise
    except BaseException:
        _end(started.result(_END_SECONDS))
        raise
    return subprocess.CompletedProcess(command, started.result().returncode, output, errors)


def last_line(errors: str) -> str:
    """Return the last line of what a command complained of, as one to be shown."""
    lines = [line for line in errors.splitlines() if line.strip()]
    return one_line(lines[-1].removeprefix("fatal: ")) if lines else ""


def _end(process: "subprocess.Popen[str]") -> None:
    """End a process and its children: asked first, so that git and pip tidy up."""
    with process, suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
        os.killpg(process.pid, signal.SIGKILL)
