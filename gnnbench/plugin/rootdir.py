"""Finds pytest's rootdir, in which the records of a project are saved."""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ..errors import UsageError
from ..files import above


class _FoundError(Exception):
    """Ends pytest when it has determined its rootdir."""


class _Rootdir:
    found: Path | None = None
    is_settled = False

    @pytest.hookimpl(wrapper=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Iterator[None]:
        """End pytest before plugins that begin early, as pytest-cov does."""
        self.found, self.is_settled = early_config.rootpath, is_settled(early_config)
        raise _FoundError
        yield


def is_settled(config: pytest.Config) -> bool:
    """Tell whether a file or an option determines rootdir, and not the current folder."""
    return bool(
        config.known_args_namespace.rootdir or config.inipath or (config.rootpath / "setup.py").exists()
    )


def rootdir(arguments: Sequence[str] = ()) -> Path:
    """Return pytest's rootdir for these arguments and the current folder.

    Raises:
        UsageError: pytest refuses the arguments; it has printed the reason.
    """
    found = _ask(arguments).found
    assert found
    return found


def settled(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with which pytest's rootdir is the same from each folder of the repository.

    Where no file of settings determines it, it depends on the current folder, and so do the ids of tests.

    Raises:
        UsageError: see `rootdir`.
    """
    *_, top = above(Path.cwd())
    if top == Path.cwd().resolve() or _ask(arguments).is_settled:
        return list(arguments)
    return [f"--rootdir={os.path.relpath(top)}", *arguments]


def _ask(arguments: Sequence[str]) -> _Rootdir:
    """Let pytest determine its rootdir.

    Warnings are ignored: where the suite's settings make them errors, pytest would end too early.

    Raises:
        UsageError: pytest refuses the arguments; it has printed the reason.
    """
    plugin = _Rootdir()
    with suppress(_FoundError):
        pytest.main(["--noconftest", "-o", "filterwarnings=", *arguments, "-W", "ignore"], plugins=[plugin])
    if plugin.found is None:
        raise UsageError(f"pytest refuses these arguments: {shlex.join(arguments)}")
    return plugin
