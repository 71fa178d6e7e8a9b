"""Finds pytest's rootdir, in which the records of a project are saved."""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ..errors import UsageError


class _FoundError(Exception):
    """Ends pytest when it has determined its rootdir."""


class _Rootdir:
    found: Path | None = None

    def pytest_load_initial_conftests(self, early_config: Any) -> None:
        self.found = early_config.rootpath
        raise _FoundError


def rootdir(arguments: Sequence[str] = ()) -> Path:
    """Return pytest's rootdir for these arguments and the current folder.

    Warnings are ignored: where the suite's settings make them errors, pytest would end too early.

    Raises:
        UsageError: pytest refuses the arguments; it has printed the reason.
    """
    plugin = _Rootdir()
    with suppress(_FoundError):
        pytest.main(["--noconftest", "-o", "filterwarnings=", *arguments, "-W", "ignore"], plugins=[plugin])
    if plugin.found is None:
        raise UsageError(f"pytest refuses these arguments: {shlex.join(arguments)}")
    return plugin.found
