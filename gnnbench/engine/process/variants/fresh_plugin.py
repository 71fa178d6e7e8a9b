"""The pytest plugin of a process that `fresh` starts: overrides options, and writes how the session ended."""

import argparse
import json
import os
from collections.abc import Collection, Generator, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from _pytest.config import ConftestImportFailure

from . import outcome
from .child_plugins import Overrides
from .collected import declares, foreign_fixture
from .excluded import skipped_by_marker

_OPTION = "--gnn-message"


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
