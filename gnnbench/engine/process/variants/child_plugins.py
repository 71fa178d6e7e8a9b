"""Pytest plugins of the pytest processes that gnnbench starts."""

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
from .collected import foreign_fixture, uses_benchmark
from .excluded import Excluded, skipped_by_marker
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
"""Overridden options: a process runs and times all benchmarks itself, and nothing traces or debugs it."""
_SILENT: Mapping[str, Any] = {
    **dict.fromkeys(("benchmark_compare", "benchmark_compare_fail", "benchmark_save", "benchmark_autosave")),
    **dict.fromkeys(("benchmark_histogram", "benchmark_cprofile")),
    **dict.fromkeys(("xmlpath", "log_file", "report_log", "htmlpath", "basetemp", "pastebin")),
    "no_header": True,
}
"""Further overridden options: processes would write to the same files if they saved results or reports, and
the last line that a process printed is quoted as the reason why it ended."""
_FLAGS = {
    "numprocesses": "-n",
    "distload": "-d",
    "cov_source": "--cov",
    "doctestglob": "--doctest-glob",
    "doctestmodules": "--doctest-modules",
    "usepdb": "--pdb",
}
"""Flags of options whose names differ from their flags."""


class Overrides:
    """Overrides options that a project's settings or a user set, before other plugins read them."""

    def __init__(
        self, further: Mapping[str, Any] | None = None, defaults: Mapping[str, Any] | None = None
    ) -> None:
        """Override `further` options besides the usual ones. `defaults` replace the project's settings."""
        self._further, self._defaults = further or {}, defaults
        self._overridden: list[str] = []
        self.excluded = Excluded()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Iterator[None]:
        """Override options for plugins that start early, such as pytest-cov."""
        _replace(early_config.known_args_namespace, _ALONE)
        early_config.pluginmanager.register(self.excluded)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, object, object]:
        self._overridden = _replace(config.option, _ALONE)
        _replace(config.option, {**_SILENT, **self._further})
        config.option.gnn_defaults = self._defaults
        return (yield)

    def lines(self) -> list[str]:
        """Return a line on the options that were overridden, and a line on packages that are hidden."""
        lines = [f"overridden options: {', '.join(self._overridden)}"] if self._overridden else []
        names = ", ".join(os.environ.get(HIDDEN, "").split())
        return [*lines, *([f"hidden packages (compiled for the installed torch): {names}"] if names else [])]


def _replace(namespace: argparse.Namespace, options: Mapping[str, Any]) -> list[str]:
    """Replace the values of options that exist; return the flags of options that had other values."""
    names = [name for name in options if hasattr(namespace, name)]
    changed = [name for name in names if getattr(namespace, name) not in (options[name], None, False)]
    for name in names:
        setattr(namespace, name, options[name])
    return [_FLAGS.get(name, f"--{name.replace('_', '-')}") for name in changed]


class CallersTree:
    """Imports test files from the caller's tree, even if a side's trees contain files of the same names."""

    def __init__(self, trees: Trees) -> None:
        self._trees = trees

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        """Import the paths among pytest's arguments, or else `testpaths`, from the caller's tree."""
        arguments = early_config.known_args_namespace.file_or_dir or early_config.getini("testpaths")
        folder = early_config.invocation_params.dir
        paths = [real_path(folder / text.split("::")[0]) for text in arguments]
        self._trees.add_tests(filter(Path.exists, paths), early_config.rootpath)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> None:
        """Import a collected test file from the caller's tree."""
        self._trees.add_tests((module_path,), parent.config.rootpath)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare an option and register hooks in processes of `fresh.py`, which load this module with -p."""
    parser.addoption("--gnn-message", type=lambda file: json.loads(Path(file).read_bytes()))
    pluginmanager.register(_Writing(), "gnnbench-ending")


class _Writing(Overrides):
    """Runs the tests that the message of `fresh.py` lists, and writes how the session ended."""

    def __init__(self) -> None:
        super().__init__()
        self._benchmarks: list[pytest.Item] = []
        self._excluded: list[str] = []
        self._reports: dict[str, dict[str, pytest.TestReport]] = {}
        self._uncollected: dict[str, str] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Iterator[None]:
        """If pytest only collects, ignore a conftest.py that fails: pytest reports the failure later."""
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
        """Ignore files that the message does not list, and folders without a listed file."""
        modules = config.option.gnn_message.get("modules")
        is_selected = modules is None or any(Path(file).is_relative_to(collection_path) for file in modules)
        return None if is_selected else True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._uncollected[self._relative(report.nodeid)] = outcome.line(report)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        """Remove tests that the message does not list, after -k and other filters."""
        yield
        if (only := self._config.option.gnn_message.get("only")) is not None:
            items[:] = [item for item in items if item.nodeid in only]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._benchmarks = [item for item in session.items if uses_benchmark(item)]
        self._excluded = self.excluded.lines(session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.setdefault(report.nodeid, {})[report.when or ""] = report

    def _ending(self) -> outcome.Ending:
        session = getattr(self._config, "_benchmarksession", None)
        timed = {benchmark.fullname for benchmark in getattr(session, "benchmarks", ())}
        return outcome.Ending(
            tuple(self._relative(item.nodeid) for item in (*self._benchmarks, *self.excluded.deselected)),
            refused=self._uncollected,
            untimed=(*self._excluded, *outcome.skips(self._skip_reasons()), *self._foreign(timed)),
            notes=tuple(self.lines()),
            overriding=tuple(self.excluded.overriding),
        )

    def _skip_reasons(self) -> Iterator[str]:
        """Yield why benchmarks were skipped, or would be skipped if pytest did not only collect them."""
        if not self._reports:
            yield from skipped_by_marker(self._benchmarks)
        for item in self._benchmarks:
            failure = outcome.failure(self._reports.get(item.nodeid, {}))
            if failure and failure.skipped:
                yield failure.text

    def _foreign(self, timed: Collection[str]) -> Iterator[str]:
        """Yield a line on each benchmark that ran with another plugin's fixture `benchmark`."""
        for item in self._benchmarks if self._reports else ():
            if item.nodeid not in timed and (reason := foreign_fixture(item)):
                yield f"{self._relative(item.nodeid)}: {reason}"

    def _relative(self, test_id: str) -> str:
        """Return a test id with its path relative to the working directory."""
        # From pytest 9.2 on, pytest's `cwd_relative_nodeid` does not accept strings.
        file, colons, test = test_id.partition("::")
        path = os.path.relpath(self._config.rootpath / file, self._config.invocation_params.dir)
        return f"{path}{colons}{test}"
