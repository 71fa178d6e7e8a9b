"""Pytest plugins of the processes that gnnbench starts: overridden options, the caller's test files."""

import os
from argparse import Namespace
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ...ground.files import real_path
from .excluded import Excluded
from .import_roots import HIDDEN, Trees

_ALONE: Mapping[str, Any] = {
    **dict.fromkeys(("numprocesses", "gnn_counters")),
    **dict.fromkeys(("distload", "looponfail", "forked", "lf", "stepwise", "usepdb", "trace"), False),
    **dict.fromkeys(("benchmark_skip", "benchmark_disable", "codspeed", "doctestmodules"), False),
    "tx": [],
    "doctestglob": [],
    "cov_source": [],
    "dist": "no",
    "parallel_threads": 1,
    "maxfail": 0,
    "benchmark_enable": True,
}
"""The process runs and times all benchmarks itself, nothing traces it, and no debugger waits for a user."""
_SILENT: Mapping[str, Any] = dict.fromkeys(
    (
        *("benchmark_compare", "benchmark_compare_fail", "benchmark_save", "benchmark_autosave"),
        *("benchmark_histogram", "benchmark_cprofile"),
        *("xmlpath", "log_file", "report_log", "htmlpath", "basetemp", "pastebin"),
    )
)
"""The process compares and saves nothing: it would write to the same files as the others."""
_FLAGS = {
    "numprocesses": "-n",
    "distload": "-d",
    "cov_source": "--cov",
    "doctestglob": "--doctest-glob",
    "doctestmodules": "--doctest-modules",
    "usepdb": "--pdb",
}
"""Options whose flag has another name."""


class Overrides:
    """A pytest plugin that overrides options of the suite and the user for the installed plugins."""

    def __init__(
        self, further: Mapping[str, Any] | None = None, defaults: Mapping[str, Any] | None = None
    ) -> None:
        """Override `further` options, too; `defaults` are used for gnnbench's options instead of settings."""
        self._further, self._defaults = further or {}, defaults
        self._given: list[str] = []
        self.excluded = Excluded()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Iterator[None]:
        """Override options before plugins that start early, such as pytest-cov, read them."""
        _replace(early_config.known_args_namespace, _ALONE)
        early_config.pluginmanager.register(self.excluded)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, object, object]:
        """Override options before other plugins read them."""
        self._given = _replace(config.option, _ALONE)
        _replace(config.option, {**_SILENT, **self._further})
        config.option.gnn_defaults = self._defaults
        return (yield)

    def lines(self) -> list[str]:
        """Return a line on the options that were overridden, and one on hidden packages."""
        lines = [f"overridden: pytest's {', '.join(self._given)}"] if self._given else []
        names = ", ".join(os.environ.get(HIDDEN, "").split())
        return [*lines, *([f"hidden, as compiled for the installed torch: {names}"] if names else [])]


def _replace(namespace: Namespace, options: Mapping[str, Any]) -> list[str]:
    """Replace options that plugins declare; return the flags of the options that a user had set."""
    names = [name for name in options if hasattr(namespace, name)]
    changed = [name for name in names if getattr(namespace, name) not in (options[name], None, False)]
    for name in names:
        setattr(namespace, name, options[name])
    return [_FLAGS.get(name, f"--{name.replace('_', '-')}") for name in changed]


class CallersTree:
    """A plugin that imports the suite's own files from the caller's tree, whatever the trees contain."""

    def __init__(self, trees: Trees) -> None:
        self._trees = trees

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        """Import the given paths, or else the configured `testpaths`, from the caller's tree."""
        arguments = early_config.known_args_namespace.file_or_dir or early_config.getini("testpaths")
        folder = early_config.invocation_params.dir
        paths = [real_path(folder / text.split("::")[0]) for text in arguments]
        self._trees.leave(filter(Path.exists, paths), early_config.rootpath)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> None:
        """Import a collected test file from the caller's tree."""
        self._trees.leave((module_path,), parent.config.rootpath)
