"""Commands in this process, whose pytests are forks of one that has imported what they need."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from gnnbench.engine.process.variants import fresh
from tests import forks
from tests.suite import environment


def pytest_is_forked(monkeypatch: pytest.MonkeyPatch, *, libraries: bool = False, **variables: str) -> None:
    """Fork the real pytests that a command starts, and give this process the variables of a user's shell."""
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        monkeypatch.delenv(name)  # those of xdist would switch timing off
    for name, value in environment(**variables).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(fresh, "running", partial(_running, libraries))


@contextmanager
def _running(
    libraries: bool, command: Sequence[str], folder: Path, variables: Mapping[str, str], _errors: int
) -> Iterator[SimpleNamespace]:
    """Yield what `gnnbench.engine.process.variants.command.running` does, of a process that has ended."""
    done = forks.run(list(command), folder, dict(variables), libraries=libraries)
    yield SimpleNamespace(
        stdout=(done.stdout + done.stderr).splitlines(keepends=True),
        wait=lambda: done.returncode,
        returncode=done.returncode,
    )
