"""Runs a project's pytest in a new process, to time benchmarks or to collect them."""

import json
import os
import shlex
import subprocess
import sys
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...ground.codec import as_text
from ...ground.errors import UsageError, one_line
from ...ground.files import project, scratch
from ...interfaces import Listener
from ...measure import simulated_clock
from .command import running
from .outcome import Ending

_TAIL_LINES = 20
_NO_TESTS = 5
"""pytest's exit status if nothing is collected."""


def run(
    arguments: Sequence[str],
    output: Path,
    folder: Path,
    number: int,
    listener: Listener,
    only: Collection[str] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> list[str]:
    """Time benchmarks in a new process, and write the times to `output`, a file of pytest-benchmark.

    `number`: the number of the process, from 1, which seeds the simulated clock. `only`: ids of the tests to
    run; None for all. `defaults`: values of gnnbench's options by key, as a user types them; None for those
    in the project's settings. Returns lines on overridden options, and on tests that were not timed.
    """
    words = [*arguments, f"--benchmark-json={output}"]
    ending, last_lines = _run_pytest(
        words, output.parent, folder, number, listener, only=only, defaults=defaults
    )
    if not output.exists():
        reasons = f": {'; '.join(ending.untimed)}" if ending.untimed else ""
        raise UsageError(f"process {number} timed nothing{reasons}", *last_lines)
    return [*ending.notes, *ending.untimed]


def collect(arguments: Sequence[str], folder: Path, modules: Collection[Path] | None = None) -> Ending:
    """Let pytest collect in a new process: all files, or only `modules`."""
    names = None if modules is None else list(map(str, modules))
    with scratch() as files:
        return _run_pytest(["--collect-only", *arguments], files, folder, 0, Listener(), modules=names)[0]


def shell_command(arguments: Sequence[str], folder: Path) -> str:
    """Return the shell command that runs pytest in `folder` as `run` does."""
    home = project(folder)
    path = "" if home == folder.resolve() else f"PYTHONPATH={shlex.quote(os.path.relpath(home, folder))} "
    return f"{path}python -m pytest {shlex.join(arguments)}"


def _run_pytest(
    arguments: Sequence[str], files: Path, folder: Path, number: int, listener: Listener, **message: Any
) -> tuple[Ending, Sequence[str]]:
    """Run pytest with a plugin that reads `message`; return how pytest ended, and its last lines of output.

    `files`: a folder for temporary files. `number`: the number of the process; 0 if it only collects.
    """
    file, message_file = files / "ending.json", files / "message.json"
    message_file.write_text(as_text({"ending": str(file), **message}), encoding="utf-8")
    plugin = ["-p", f"{__package__}.child_plugins", f"--gnn-message={message_file}"]
    command = [sys.executable, "-m", "pytest", *plugin, *arguments]
    last_lines: deque[str] = deque(maxlen=_TAIL_LINES)
    environment = {**os.environ, **simulated_clock.reseeded(number)}
    if (home := project(folder)) != folder.resolve():  # otherwise `folder` alone is in sys.path
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(home), os.environ.get("PYTHONPATH")]))
    with running(command, folder, environment, subprocess.STDOUT) as process:
        assert process.stdout
        for line in process.stdout:
            last_lines.append(one_line(line.rstrip()))
            listener.detail(last_lines[-1])
        process.wait()
    if not file.exists() or (number and process.returncode not in (0, _NO_TESTS)):
        title = f"process {number}" if number else "collecting"
        raise UsageError(f"{title} failed: pytest ended with exit status {process.returncode}", *last_lines)
    return Ending(**json.loads(file.read_text(encoding="utf-8"))), last_lines
