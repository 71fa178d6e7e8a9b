"""The pytest plugin of a process that `fresh` starts: overrides options, and writes how the session ended."""

import argparse
import json
import os
import sys
from collections.abc import Collection, Generator, Iterator
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from _pytest.config import ConftestImportFailure

from . import outcome
from .child_plugins import Overrides
from .collected import declares, foreign_fixture, only_marked, owner

OPTION = "--gnn-ending"
_DECIDING = frozenset({"exitstatus", "testsfailed", "shouldfail", "shouldstop"})
"""Attributes of a session from which its exit status follows."""
_PYTEST = ("_pytest", "pluggy", "pytest", __package__)
_OPTIONS = {"_pytest.terminal": "--max-warnings"}
"""By module of pytest that sets one of them without a test that failed, the option that asks for it."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hidden option that names the file, and register the hooks."""
    parser.addoption(OPTION, dest="gnn_ending", type=Path, help=argparse.SUPPRESS)
    pluginmanager.register(_Writing(), "gnnbench-ending")


class _Writing(Overrides):
    def __init__(self) -> None:
        super().__init__()
        self._benchmarks: list[pytest.Item] = []
        self._marked: list[str] = []
        self._reports: dict[str, dict[str, pytest.TestReport]] = {}
        self._refused: dict[str, str] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Iterator[None]:
        """Where pytest only collects, go on: it names a folder whose conftest.py it cannot import."""
        try:
            return (yield from super().pytest_load_initial_conftests(early_config))
        except ConftestImportFailure:
            if not early_config.known_args_namespace.collectonly:
                raise
            return None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, object, object]:
        self._config, self._causes = config, _ExitCauses(config)
        try:
            status: Any = yield from super().pytest_cmdline_main(config)
        except Exception:
            if self._reports:  # the tests ran; else it is an option that pytest refuses
                self._write(pytest.ExitCode.TESTS_FAILED)
            raise
        self._write(int(status or 0))
        return status

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Iterator[None]:
        """Note what raises where pytest calls no hook."""
        try:
            return (yield)
        except BaseException as error:
            self._causes.add_raised(pytest.ExceptionInfo.from_exception(error))
            raise

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._causes.watch(session)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._refused[self._shown(report.nodeid)] = outcome.line(report)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._benchmarks = [item for item in session.items if declares(item)]
        self._marked = only_marked(session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.setdefault(report.nodeid, {})[report.when or ""] = report

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._causes.add_raised(excinfo)

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._causes.add_raised(excinfo)

    def _write(self, status: int) -> None:
        file: Path = self._config.option.gnn_ending
        file.write_text(json.dumps(asdict(self._ending(status))), encoding="utf-8")

    def _ending(self, status: int) -> outcome.Ending:
        failed = [name for name, found in self._reports.items() if any(one.failed for one in found.values())]
        names = [item.nodeid for item in self._benchmarks]
        theirs = getattr(self._config, "_benchmarksession", None)
        timed = {one.fullname for one in getattr(theirs, "benchmarks", ())}
        known = {*names, *timed}
        return outcome.Ending(
            status,
            self._causes.names(),
            tuple(map(self._shown, names)),
            sum(name not in self._reports for name in names),
            tuple(f"{self._shown(name)} {self._why(name)}" for name in failed if name in known),
            tuple(self._shown(name) for name in failed if name not in known),
            self._refused,
            (*self._marked, *(self._foreign(timed) if self._reports else ())),
            tuple(self.lines()),
            bool(self._config.getini("testpaths")),
        )

    def _foreign(self, timed: Collection[str]) -> Iterator[str]:
        """Yield a line on each benchmark that another plugin's fixture has run."""
        for item in self._benchmarks:
            if item.nodeid not in timed and (why := foreign_fixture(item)):
                yield f"{self._shown(item.nodeid)}: {why}"

    def _shown(self, name: str) -> str:
        """Return an id as it begins in the working directory.

        Not by pytest's `cwd_relative_nodeid`, which takes no text from pytest 9.2 on.
        """
        file, colons, test = name.partition("::")
        path = os.path.relpath(self._config.rootpath / file, self._config.invocation_params.dir)
        return f"{path}{colons}{test}"

    def _why(self, name: str) -> str:
        failed = {when: one for when, one in self._reports[name].items() if one.failed}
        failure = outcome.failure(failed)
        return failure.text if failure else "failed"


class _ExitCauses:
    """Collects who changed the exit status of a session."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._found: dict[str, None] = {}

    def names(self) -> tuple[str, ...]:
        """Return the plugins, files and options, in the order in which they did so."""
        return tuple(self._found)

    def watch(self, session: pytest.Session) -> None:
        """Notice from now on who sets a deciding attribute."""
        add = self._add

        class Watched(type(session)):  # type: ignore[misc]
            def __setattr__(self, name: str, value: Any) -> None:
                if name in _DECIDING:
                    add(sys._getframe(1))  # noqa: SLF001 - as inspect.currentframe does
                super().__setattr__(name, value)

        session.__class__ = Watched

    def add_raised(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Add who raised what ended the session."""
        for entry in reversed(excinfo.traceback):
            if not _is_pytest(entry.frame.raw):
                self._add(entry.frame.raw)
                return

    def _add(self, frame: FrameType) -> None:
        module = str(frame.f_globals.get("__name__"))
        if module in _OPTIONS:
            self._found[_OPTIONS[module]] = None
        elif not _is_pytest(frame):
            self._found[owner(self._config, module, frame.f_code)] = None


def _is_pytest(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__"))
    return any(module == one or module.startswith(f"{one}.") for one in _PYTEST)
