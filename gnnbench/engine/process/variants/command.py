"""Runs commands such as git, pip and pytest, and always ends them."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

from ...ground.errors import UsageError, one_line

_START_SECONDS = 5.0
END_SECONDS = 5.0
"""Time for a process to end after SIGTERM."""
PATHS = (".", "/", "~")
"""Beginnings of paths; no name of a commit and no requirement begins with one of them."""
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tar.bz2", ".tgz")
_PIP_OPTIONS = ("--no-input", "--disable-pip-version-check", "--no-user", "--quiet")


@contextmanager
def running(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], errors: int
) -> "Iterator[subprocess.Popen[str]]":
    """Start a command with its output in a pipe; on exit, end it and all processes that it started.

    No shell interprets the command. `environment` has all its variables. `errors` is subprocess.PIPE or
    subprocess.STDOUT.
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
        # Ctrl-C interrupts only the main thread: no process that another thread starts can be lost.
        threading.Thread(target=start, daemon=True).start()
        yield started.result()
    finally:
        with started.result(_START_SECONDS) as process:
            end(process)


def call(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end; if interrupted, end it and all processes that it started.

    No shell interprets the command. `environment` has all its variables.
    """
    with running(command, folder, environment, subprocess.PIPE) as process:
        output, errors = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def last_line(errors: str) -> str:
    """Return the last line of a command's standard error, without control characters."""
    lines = [line for line in errors.splitlines() if line.strip()]
    return one_line(lines[-1]) if lines else ""


def pip_install(options: Sequence[str], requirements: Sequence[str], root: Path, part: str) -> str:
    """Run `pip install` of this environment, and return its output."""
    # -P: import nothing from the caller's folder.
    python = (sys.executable, "-P", "-m", "pip", "install", *_PIP_OPTIONS)
    answer = call([*python, *options, "--", *requirements], root, os.environ)
    if not answer.returncode:
        return answer.stdout
    if "No module named pip" in answer.stderr:
        raise UsageError(f"{part} needs pip: install it with {sys.executable} -m ensurepip")
    # pip explains a conflict in the line before ResolutionImpossible.
    errors = re.findall(r"^ERROR: (?!ResolutionImpossible)(.+)", answer.stderr, re.MULTILINE)
    reason = last_line("\n".join(errors) or answer.stderr) or f"it ended with {answer.returncode}"
    raise UsageError(f"{part}: pip cannot install it: {reason}")


def pip_report(source: str, root: Path, part: str, options: Sequence[str] = ()) -> list[Any]:
    """Return what pip would install, as the entries of its report."""
    options = ("--dry-run", "--ignore-installed", "--report=-", *options)
    return list(json.loads(pip_install(options, [source], root, part))["install"])


def end(process: subprocess.Popen[Any]) -> None:
    """End a process group and its leader."""
    try:
        if process.poll() is None:
            kill_group(process.pid, signal.SIGTERM)
            wait(process, END_SECONDS)
    finally:
        kill_group(process.pid)
        process.wait()


def wait(process: subprocess.Popen[Any], seconds: float) -> None:
    """Wait up to `seconds` for a process to end by itself."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def kill_group(leader: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a process group; processes of the suite may outlive its leader."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def is_local(requirement: str) -> bool:
    """Whether a requirement for pip looks like a local file or folder."""
    return "://" not in requirement and (
        requirement.startswith(PATHS) or requirement.lower().endswith(_ARCHIVES)
    )


def is_pinned(requirement: str) -> bool:
    """Whether a requirement that is not local allows exactly one release."""
    specifiers = list(Requirement(requirement).specifier)
    return any(part.operator in {"==", "==="} and "*" not in part.version for part in specifiers)


def pinned(text: str) -> tuple[str, str]:
    """Return the name and the version of a requirement `NAME==VERSION`."""
    try:
        requirement = Requirement(text)
        (pin,) = requirement.specifier
        Version(pin.version)
        is_plain = not (requirement.url or requirement.extras or requirement.marker)
    except (ValueError, RecursionError):
        is_plain = False
    if not is_plain or pin.operator not in {"==", "==="}:
        raise UsageError(f"{'pip:' + text!r} is not one release: give pip:NAME==VERSION")
    return requirement.name, pin.version
