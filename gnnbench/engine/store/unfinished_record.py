"""A record that is being made: its finished processes, kept so that an interrupted command can continue."""

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from ..ground import environment
from ..ground.environment import Environment
from ..ground.errors import UsageError
from ..ground.files import hold, remove
from . import run_file
from .run_file import RunFile

_KEPT_SECONDS = 7 * 24 * 3600
_VARIABLES = ("GNNBENCH_", "PYTEST_", "PYTHON")
"""Prefixes of the environment variables that change what pytest runs."""


@dataclass(frozen=True)
class UnfinishedRecord:
    """A folder with the run file of each process, `PROCESS.json`; it gets its name when it is complete."""

    folder: Path

    def get(self, process: int) -> RunFile | None:
        """Return a process that has ended; None if it has not, or if its file is damaged."""
        with suppress(UsageError):
            return run_file.read(self._file(process))
        return None

    def keep(self, output: Path, process: int) -> RunFile:
        """Move the run file of a process that has ended into the folder, and return it."""
        return run_file.read(output.replace(self._file(process)))

    def finished(self, processes: int) -> int:
        """Return how many of the first `processes` have ended."""
        return sum(self.get(process) is not None for process in range(1, processes + 1))

    def remove(self) -> None:
        """Remove the folder."""
        remove(self.folder)

    def _file(self, process: int) -> Path:
        return self.folder / f"{process}.json"


@contextmanager
def opened(
    cache: Path, here: Environment, inputs: Sequence[str], waits: Callable[[], object] = lambda: None
) -> Iterator[UnfinishedRecord]:
    """Open the unfinished record of this commit, environment and inputs; one at a time in an environment.

    It has the processes that an interrupted command left. Those that were left for a week are removed.

    Args:
        inputs: what else must be equal for processes to belong to one record: folders, pytest's arguments.
        waits: is called before waiting for another record.
    """
    unfinished = cache / "unfinished-records"
    # Not inside: what is there is removed, and a lock with it.
    with hold(cache / f"recording-{environment.name(asdict(here))}.lock", cache, waits):
        for folder in unfinished.glob("*"):
            with suppress(OSError):  # another command has just removed it
                if time.time() - folder.stat().st_mtime > _KEPT_SECONDS:
                    remove(folder)
        folder = unfinished / _digest(here, inputs)
        folder.mkdir(parents=True, exist_ok=True)
        yield UnfinishedRecord(folder)


def _digest(here: Environment, inputs: Sequence[str]) -> str:
    installed = sorted(f"{package.name} {package.version}" for package in metadata.distributions())
    variables = sorted(item for item in os.environ.items() if item[0].startswith(_VARIABLES))
    # Without a commit nobody knows whether the code is still the same.
    commit = here.commit or secrets.token_hex()
    content = commit, environment.name(asdict(here)), here.python, installed, variables, inputs
    return hashlib.sha256(repr(content).encode()).hexdigest()[:24]
