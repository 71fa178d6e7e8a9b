"""A part of pytest in a process with trees: the suite itself comes from the caller's, whatever they have."""

from pathlib import Path

import pytest

from .import_roots import Trees


class CallersTree:
    """Leaves the files of tests to the caller's tree."""

    def __init__(self, trees: Trees) -> None:
        self._trees = trees

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        """Have the suite come from the caller's tree."""
        given = early_config.known_args_namespace.file_or_dir or early_config.getini("testpaths")
        folder = early_config.invocation_params.dir
        paths = [(folder / text.split("::")[0]).resolve() for text in given]
        self._trees.leave(filter(Path.exists, paths), early_config.rootpath)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> None:
        """Have a file of tests come from the caller's tree."""
        self._trees.leave((module_path,), parent.config.rootpath)
