"""A fresh process that runs benchmarks and profiles them."""

import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..ab.process import boot, end
from ..errors import UsageError

_SAID = re.compile(r"ERROR: (.+)|!+ _pytest\.outcomes\.Exit: (.+) !+")
"""A line in which pytest says why it does not begin, or why it ends."""
_TAIL_LINES = 20
_AS_IT_SHOULD = (0, 1, 5)
"""pytest's exit statuses: passed; a benchmark failed, which it says itself; none was collected."""


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
        repeats: calls after the first.
        folder: where profiles are saved.
        trees: import roots whose packages come before all others; the first that has one wins.
        environment: changes to this process's own.
        progress: is told what goes on.

    Returns:
        Of each benchmark; nothing where no benchmark is what the arguments select. Where pytest ended before
        its time, the one that had begun is the last, and failed.

    Raises:
        UsageError: pytest refused its arguments, or ended before a benchmark began.
    """
    read, write = os.pipe()
    terms = {
        "write": write,
        "coordinator": os.getpid(),
        "kinds": list(kinds),
        "repeats": repeats,
        "folder": str(folder.absolute()),
        "trees": [str(tree) for tree in trees],
    }
    command = [*boot("profile.launch"), json.dumps(terms), *arguments]
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
            followed = _Followed(pipe, progress)
            status = process.wait()
        finally:
            end(process)
        if followed.status not in _AS_IT_SHOULD:
            why = _why(status, log)
            if not followed.ended and (followed.status is not None or not followed.running):
                raise UsageError(why)
            followed.add(Ended(followed.running or "pytest", None, {}, why, None))
    return followed.ended


class _Followed:
    """What the process told until it ended."""

    def __init__(self, pipe: IO[str], progress: Progress) -> None:
        self.ended: list[Ended] = []
        self.running: str | None = None
        """The benchmark that has begun and not ended."""
        self.status: int | None = None
        """pytest's; None: it did not come to that."""
        self._count, self._progress = 0, progress
        for line in pipe:
            told = json.loads(line)
            if "collected" in told:
                self._count = told["collected"]
            elif "begins" in told:
                self.running = told["begins"]
                progress(len(self.ended) + 1, self._count, told["begins"])
            elif "ends" in told:
                folder = told["folder"] and Path(told["folder"])
                self.add(Ended(told["ends"], folder, told["unavailable"], told["failed"], told["left_out"]))
            else:
                self.status = told["finished"]

    def add(self, ended: Ended) -> None:
        """Note how a benchmark ended, and say so."""
        self.running = None
        self.ended.append(ended)
        self._progress(len(self.ended), self._count, ended)


def _why(status: int, log: IO[bytes]) -> str:
    """Say in a line, where pytest does, why nothing ran."""
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()
    if errors := [found[1] or found[2] for line in lines if (found := _SAID.match(line))]:
        return errors[0].removeprefix("gnnbench: ")
    how = (
        f"was killed by {signal.Signals(-status).name}"
        if status < 0
        else f"ended with {status}, in the middle"
    )
    return f"pytest {how}\n" + "\n".join(lines[-_TAIL_LINES:])
