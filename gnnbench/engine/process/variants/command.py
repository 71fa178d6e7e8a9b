"""Runs commands such as git, pip and pytest, and ends them even if gnnbench is interrupted."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...ground.errors import one_line

_START_SECONDS = 5.0
"""Time for a command to start after an interrupt, so that it can be ended."""
END_SECONDS = 5.0
"""Time for a process to end after SIGTERM."""


@contextmanager
def running(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], errors: int
) -> "Iterator[subprocess.Popen[str]]":
    """Start a command with its output in a pipe. On exit, end the command and all processes that it started.

    No shell interprets the command. `environment` has all environment variables of the command. `errors`,
    for its standard error, is subprocess.PIPE or subprocess.STDOUT.
    """
    start: Callable[..., subprocess.Popen[str]] = subprocess.Popen
    # Another thread starts the process: Ctrl-C interrupts only the main thread, which then ends the process.
    started = ThreadPoolExecutor(1).submit(
        start,
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
    try:
        yield started.result()
    finally:
        with started.result(_START_SECONDS) as process:
            end(process)


def call(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, and return its output; see `running`."""
    with running(command, folder, environment, subprocess.PIPE) as process:
        output, errors = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def last_line(errors: str) -> str:
    """Return the last line of a command's standard error, without control characters."""
    lines = [line for line in errors.splitlines() if line.strip()]
    return one_line(lines[-1]) if lines else ""


def end(process: subprocess.Popen[Any]) -> None:
    try:
        if process.poll() is None:
            kill_group(process.pid, signal.SIGTERM)
            wait(process, END_SECONDS)
    finally:
        kill_group(process.pid)
        process.wait()


def wait(process: subprocess.Popen[Any], seconds: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def kill_group(leader: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a process group, some of whose processes may outlive the leader."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
