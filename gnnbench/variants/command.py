"""Commands such as git, pip and pytest: processes that are ended for sure, and what they complained of."""

import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from ..errors import one_line
from .child import end

_START_SECONDS = 5.0


@contextmanager
def running(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], errors: int
) -> "Iterator[subprocess.Popen[str]]":
    """Start a command, its output in a pipe; end it with all that it started when the context ends.

    Args:
        command: program and arguments; they never pass a shell.
        folder: where it runs.
        environment: all its variables.
        errors: where its standard error goes: subprocess.PIPE or subprocess.STDOUT.

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
                stderr=errors,
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
        yield started.result()
    finally:
        with started.result(_START_SECONDS) as process:
            end(process)


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
    with running(command, folder, environment, subprocess.PIPE) as process:
        output, errors = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def last_line(errors: str) -> str:
    """Return the last line of what a command complained of, as one to be shown."""
    lines = [line for line in errors.splitlines() if line.strip()]
    return one_line(lines[-1].removeprefix("fatal: ")) if lines else ""
