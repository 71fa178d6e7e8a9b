"""Pytest plugins of the processes that gnnbench starts: overridden options, the caller's test files."""

import argparse
import json
import os
from collections.abc import Collection, Generator, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from _pytest.config import ConftestImportFailure

from ...ground.files import real_path
from . import outcome
from .collected import declares, foreign_fixture
from .excluded import Excluded, skipped_by_marker
from .import_roots import HIDDEN, Trees

_OPTION = "--gnn-message"
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


def _replace(namespace: argparse.Namespace, options: Mapping[str, Any]) -> list[str]:
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
        self._trees.add_tests(filter(Path.exists, paths), early_config.rootpath)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> None:
        """Import a collected test file from the caller's tree."""
        self._trees.add_tests((module_path,), parent.config.rootpath)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hidden option with the file of the message, and register the hooks."""
    parser.addoption(_OPTION, dest="gnn_message", type=_message, help=argparse.SUPPRESS)
    pluginmanager.register(_Writing(), "gnnbench-ending")


def _message(file: str) -> Any:
    return json.loads(Path(file).read_text(encoding="utf-8"))


class _Writing(Overrides):
    def __init__(self) -> None:
        super().__init__()
        self._benchmarks: list[pytest.Item] = []
        self._excluded: list[str] = []
        self._reports: dict[str, dict[str, pytest.TestReport]] = {}
        self._refused: dict[str, str] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Iterator[None]:
        """Continue if pytest only collects: it then reports the folder whose conftest.py it cannot import."""
        try:
            return (yield from super().pytest_load_initial_conftests(early_config))
        except ConftestImportFailure:
            if not early_config.known_args_namespace.collectonly:
                raise
            return None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, object, object]:
        self._config, self._defaults = config, config.option.gnn_message.get("defaults")
        status = yield from super().pytest_cmdline_main(config)
        Path(config.option.gnn_message["ending"]).write_text(json.dumps(asdict(self._ending())))
        return status

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Leave out files that the message does not list, and folders without a listed file."""
        modules = config.option.gnn_message.get("modules")
        is_selected = modules is None or any(Path(file).is_relative_to(collection_path) for file in modules)
        return None if is_selected else True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._refused[self._shown(report.nodeid)] = outcome.line(report)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        """Keep only the tests that the message lists, after -k and other filters."""
        yield
        if (only := self._config.option.gnn_message.get("only")) is not None:
            items[:] = [item for item in items if item.nodeid in only]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._benchmarks = [item for item in session.items if declares(item)]
        self._excluded = self.excluded.lines(session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.setdefault(report.nodeid, {})[report.when or ""] = report

    def _ending(self) -> outcome.Ending:
        session = getattr(self._config, "_benchmarksession", None)
        timed = {benchmark.fullname for benchmark in getattr(session, "benchmarks", ())}
        return outcome.Ending(
            tuple(self._shown(item.nodeid) for item in (*self._benchmarks, *self.excluded.deselected)),
            self._refused,
            (*self._excluded, *outcome.skips(self._skipped()), *self._foreign(timed)),
            tuple(self.lines()),
            tuple(self.excluded.overriding),
        )

    def _skipped(self) -> Iterator[str]:
        if not self._reports:
            yield from skipped_by_marker(self._benchmarks)
        for item in self._benchmarks:
            failure = outcome.failure(self._reports.get(item.nodeid, {}))
            if failure and failure.skipped:
                yield failure.text

    def _foreign(self, timed: Collection[str]) -> Iterator[str]:
        """Yield a line on each benchmark that another plugin's fixture has run."""
        for item in self._benchmarks if self._reports else ():
            if item.nodeid not in timed and (reason := foreign_fixture(item)):
                yield f"{self._shown(item.nodeid)}: {reason}"

    def _shown(self, name: str) -> str:
        """Return an id with its path relative to the working directory."""
        # pytest's `cwd_relative_nodeid` takes no text from pytest 9.2 on.
        file, colons, test = name.partition("::")
        path = os.path.relpath(self._config.rootpath / file, self._config.invocation_params.dir)
        return f"{path}{colons}{test}"
