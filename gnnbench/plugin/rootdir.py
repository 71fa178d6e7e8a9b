"""pytest's rootdir, where the records of a project lie."""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ..errors import UsageError


class _FoundError(Exception):
    """pytest knows its rootdir, and need not go on."""


class _Rootdir:
    """A plugin that ends pytest as soon as it knows its rootdir."""

    found: Path | None = None

    def pytest_load_initial_conftests(self, early_config: Any) -> None:
        self.found = early_config.rootpath
        raise _FoundError


def rootdir(arguments: Sequence[str] = ()) -> Path:
    """Return the rootdir of pytest with these arguments, called in this folder.

    Raises:
        UsageError: pytest refuses the arguments; it has said why.
    """
    plugin = _Rootdir()
    with suppress(_FoundError):
        pytest.main(["--noconftest", *arguments], plugins=[plugin])
    if plugin.found is None:
        raise UsageError(f"pytest cannot run with these arguments: {shlex.join(arguments)}")
    return plugin.found
