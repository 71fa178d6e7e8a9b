"""Runs a suite's pytest in a new process."""

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
    """Time a suite in a new process: all of its tests, or the tests whose ids are in `only`.

    The number of the process, from 1, seeds the simulated clock. `defaults`: default values of gnnbench's
    options by key, as a user types them; None for those in the settings. Returns lines on options of the
    suite that were overridden.
    """
    words = [*arguments, f"--benchmark-json={output}"]
    ending, last_lines = _ended(words, output.parent, folder, number, listener, only=only, defaults=defaults)
    if not output.exists():
        reasons = f": {'; '.join(ending.untimed)}" if ending.untimed else ""
        raise UsageError(f"process {number} timed nothing{reasons}", *last_lines)
    return [*ending.notes, *ending.untimed]


def collect(arguments: Sequence[str], folder: Path, modules: Collection[Path] | None = None) -> Ending:
    """Let pytest collect in a new process, and return how the session ended.

    `modules`: the only files that pytest reads; None for all.
    """
    names = None if modules is None else list(map(str, modules))
    with scratch() as files:
        return _ended(["--collect-only", *arguments], files, folder, 0, Listener(), modules=names)[0]


def typed(arguments: Sequence[str], folder: Path) -> str:
    """Return the command by which a user runs pytest as `run` does: with the project in Python's path."""
    home = project(folder)
    path = "" if home == folder.resolve() else f"PYTHONPATH={shlex.quote(os.path.relpath(home, folder))} "
    return f"{path}python -m pytest {shlex.join(arguments)}"


def _ended(
    arguments: Sequence[str], files: Path, folder: Path, number: int, listener: Listener, **message: Any
) -> tuple[Ending, Sequence[str]]:
    """Run pytest in a new process, with its plugin; return how it ended, and its last lines.

    `number`: the number of the process; 0 if it only collects.
    """
    file, message_file = files / "ending.json", files / "message.json"
    message_file.write_text(as_text({"ending": str(file), **message}), encoding="utf-8")
    plugin = ["-p", f"{__package__}.child_plugins", f"--gnn-message={message_file}"]
    command = [sys.executable, "-m", "pytest", *plugin, *arguments]
    last_lines: deque[str] = deque(maxlen=_TAIL_LINES)
    environment = {**os.environ, **simulated_clock.reseeded(number)}
    if (home := project(folder)) != folder.resolve():  # Python has only `folder` in its path
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(home), os.environ.get("PYTHONPATH")]))
    with running(command, folder, environment, subprocess.STDOUT) as process:
        assert process.stdout
        for line in process.stdout:
            last_lines.append(one_line(line.rstrip()))
            listener.detail(last_lines[-1])
        process.wait()
    if not file.exists() or (number and process.returncode not in (0, _NO_TESTS)):
        title = f"process {number}" if number else "collecting"
        raise UsageError(f"{title} failed: pytest ended with {process.returncode}", *last_lines)
    return Ending(**json.loads(file.read_text(encoding="utf-8"))), last_lines
