"""Makes pytest import the suite's own files from the caller's tree, whatever the trees contain."""

from pathlib import Path

import pytest

from ..files import real_path
from .import_roots import Trees


class CallersTree:
    """A pytest plugin for a process with trees."""

    def __init__(self, trees: Trees) -> None:
        self._trees = trees

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        """Import the given paths, or else the configured `testpaths`, from the caller's tree."""
        given = early_config.known_args_namespace.file_or_dir or early_config.getini("testpaths")
        folder = early_config.invocation_params.dir
        paths = [real_path(folder / text.split("::")[0]) for text in given]
        self._trees.leave(filter(Path.exists, paths), early_config.rootpath)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> None:
        """Import a collected test file from the caller's tree."""
        self._trees.leave((module_path,), parent.config.rootpath)
