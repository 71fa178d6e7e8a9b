"""A fresh process that runs benchmarks and profiles them."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..errors import UsageError

_PACKAGE = Path(__file__).parents[1]
_ALIAS = "gnnbench_profiler"
_BOOT = f"""
import importlib.util, sys
init = sys.argv.pop(1)
spec = importlib.util.spec_from_file_location({_ALIAS!r}, init)
module = sys.modules[{_ALIAS!r}] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from {_ALIAS}.profile.launch import main
main()
"""
"""Loads this package by its file and under another name: see launch.py."""
_SAID = re.compile(r"ERROR: (.+)|!+ _pytest\.outcomes\.Exit: (.+) !+")
"""A line in which pytest says why it does not begin, or why it ends."""
_END_SECONDS = 10.0
_TAIL_LINES = 20
_FAILED, _NOTHING = 1, 5
"""pytest's exit statuses: a benchmark failed, which it says itself; none was collected."""


Progress = Callable[[int, int, "str | Ended"], None]
"""Is told of each benchmark when it begins, by its id, and when it has ended; before that its number, from 1,
and how many there are."""


@dataclass(frozen=True)
class Ended:
    """How a benchmark ended."""

    id: str
    """pytest's."""
    folder: Path | None
    """Of its profile; None: there is none."""
    unavailable: Mapping[str, str]
    """Kinds that were asked for as well: what they need."""
    failed: str | None
    """What pytest shows of it."""
    left_out: str | None
    """Why there is no profile of one that did not fail."""


def run(
    arguments: Sequence[str],
    *,
    kinds: Sequence[str],
    repeats: int,
    folder: Path,
    trees: Sequence[Path],
    environment: Mapping[str, str],
    progress: Progress,
) -> list[Ended]:
    """Run pytest in a process of its own, and profile the benchmarks that it collects.

    Args:
        arguments: of pytest; they never pass a shell.
        kinds: of profiles.
        repeats: calls after the first, cold one.
        folder: where profiles are saved.
        trees: import roots whose packages come before all others; the first that has one wins.
        environment: changes to this process's own.
        progress: is told what goes on.

    Returns:
        Of each benchmark; nothing where no benchmark is what the arguments select.

    Raises:
        UsageError: pytest refused its arguments, or ended before its time.
    """
    read, write = os.pipe()
    terms = {
        "write": write,
        "kinds": list(kinds),
        "repeats": repeats,
        "folder": str(folder.absolute()),
        "trees": [str(tree) for tree in trees],
    }
    command = [sys.executable, "-c", _BOOT, str(_PACKAGE / "__init__.py"), json.dumps(terms), *arguments]
    with tempfile.TemporaryFile() as log, os.fdopen(read, encoding="utf-8") as pipe:
        try:
            process = subprocess.Popen(  # noqa: S603
                command,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(write,),
                start_new_session=True,  # Ctrl-C comes once, from here
            )
        finally:
            os.close(write)
        try:
            ended = _follow(pipe, progress)
            status = process.wait()
        except BaseException:
            _end(process)
            raise
        if status not in (0, _FAILED, _NOTHING):
            raise UsageError(_why(status, log))
    return ended


def _follow(pipe: IO[str], progress: Progress) -> list[Ended]:
    count = 0
    ended: list[Ended] = []
    for line in pipe:
        told = json.loads(line)
        if "collected" in told:
            count = told["collected"]
        elif "begins" in told:
            progress(len(ended) + 1, count, told["begins"])
        else:
            folder = told["folder"] and Path(told["folder"])
            ended.append(Ended(told["ends"], folder, told["unavailable"], told["failed"], told["left_out"]))
            progress(len(ended), count, ended[-1])
    return ended


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt it, which lets it clean up."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _why(status: int, log: IO[bytes]) -> str:
    """Say in a line, where pytest does, why nothing ran."""
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()
    if errors := [found[1] or found[2] for line in lines if (found := _SAID.match(line))]:
        return errors[0].removeprefix("gnnbench: ")
    how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with {status}"
    return f"pytest {how}\n" + "\n".join(lines[-_TAIL_LINES:])
