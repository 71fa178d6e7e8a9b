"""Finds pytest's rootdir, in which the records of a project are saved."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ..ground.errors import UsageError


class _FoundError(Exception):
    """Ends pytest when it has determined its rootdir; its argument is pytest's configuration."""


class _Finder:
    @pytest.hookimpl(wrapper=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Iterator[None]:
        """End pytest before plugins that begin early, as pytest-cov does."""
        raise _FoundError(early_config)
        yield


def rootdir(arguments: Sequence[str] = ()) -> Path:
    """Return pytest's rootdir for these arguments and the current folder."""
    return _config(arguments).rootpath


def has_testpaths(arguments: Sequence[str]) -> bool:
    """Tell whether pytest knows by its settings what to collect if no argument names a path."""
    config = _config(arguments)
    return bool(config.getini("testpaths")) and config.rootpath == config.invocation_params.dir


def _config(arguments: Sequence[str]) -> pytest.Config:
    """Let pytest determine its rootdir; a warning that the settings make an error would end it too early."""
    words = ["--noconftest", "-o", "filterwarnings=", *arguments, "-W", "ignore"]
    try:
        pytest.main(words, plugins=[_Finder()])
    except _FoundError as found:
        config: pytest.Config = found.args[0]
        return config
    raise UsageError(f"pytest refuses these arguments: {shlex.join(arguments)}")
