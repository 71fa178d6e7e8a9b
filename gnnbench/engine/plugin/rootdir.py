"""Finds pytest's rootdir, in which the records of a project are saved."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ..ground.errors import UsageError


class _FoundError(Exception):
    """Ends pytest as soon as the rootdir is known; the argument is pytest's configuration."""


class _Finder:
    @pytest.hookimpl(wrapper=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Iterator[None]:
        """End pytest before plugins that start early, such as pytest-cov."""
        raise _FoundError(early_config)
        yield


def rootdir(arguments: Sequence[str] = ()) -> Path:
    """Return pytest's rootdir for these arguments and the current folder."""
    return _config(arguments).rootpath


def has_testpaths(arguments: Sequence[str]) -> bool:
    """Return whether pytest would collect what `testpaths` names if no argument were a path."""
    config = _config(arguments)
    return bool(config.getini("testpaths")) and config.rootpath == config.invocation_params.dir


def _config(arguments: Sequence[str]) -> pytest.Config:
    """Return pytest's configuration for these arguments. Warnings never become errors here."""
    words = ["--noconftest", "-o", "filterwarnings=", *arguments, "-W", "ignore"]
    try:
        pytest.main(words, plugins=[_Finder()])
    except _FoundError as error:
        config: pytest.Config = error.args[0]
        return config
    raise UsageError(f"pytest refuses these arguments: {shlex.join(arguments)}")
