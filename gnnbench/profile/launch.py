"""The first thing that runs in a process that profiles; then it is an ordinary pytest.

Loaded by file under another name than the package's, as the workers of `gnnbench ab` are: the suite may
import another version of that, and both sides of a difference are to be profiled by the same code.
"""

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, TextIO

import pytest

from ..variants import outcome
from ..variants.callers_tree import CallersTree
from ..variants.import_roots import Trees
from ..variants.startup import die_with
from . import selection
from .hooks import Profiling
from .store import Store

_OFF: dict[str, Any] = {
    "numprocesses": None,
    "dist": "no",
    "tx": [],
    "usepdb": False,
    "benchmark_skip": False,
    "benchmark_compare": None,
    "gnn_strict": False,
}
"""Options that a suite's own settings may have, as far as their plugins are there."""


def main() -> NoReturn:
    """Run pytest on the arguments after the first, which says what to profile and whom to tell."""
    terms = json.loads(sys.argv[1])
    arguments = sys.argv[2:]
    die_with(terms["coordinator"])
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # nothing half done is left behind then either
    for pipe in (terms["read"], terms["write"]):
        os.set_inheritable(pipe, False)  # what the suite starts may outlive it
    if sys.path and not sys.path[0]:
        sys.path[0] = os.getcwd()  # noqa: PTH109 - as `python -m pytest` has it
    trees = Trees(terms["trees"])
    trees.install()
    sys.argv[:] = [str(Path(pytest.__file__).with_name("__main__.py")), *arguments]
    with os.fdopen(terms["write"], "w", encoding="utf-8") as pipe:
        telling = _Telling(pipe, terms)
        status = pytest.main(arguments, plugins=[CallersTree(trees), telling.profiling, telling])
    sys.exit(status)


class _Telling:
    """Tells the process that waits how the benchmarks end, an object of JSON in each line."""

    def __init__(self, pipe: TextIO, terms: Mapping[str, Any]) -> None:
        self._pipe, self._read = pipe, terms["read"]
        self._select, self._only = terms["select"], terms["only"]
        store = Store(Path(terms["folder"]))
        self.profiling = Profiling(terms["kinds"], terms["repeats"], store, self._turn)
        self._reports: dict[str, pytest.TestReport] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> None:
        """Set what a suite may have set otherwise."""
        for name, value in _OFF.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the benchmarks that are asked for; an expression is pytest's to apply, as after its -k."""
        kept = [item for item in items if "benchmark" in getattr(item, "fixturenames", ())]
        if self._only:
            kept = [item for item in kept if item.nodeid in self._only]
        elif self._select:
            found = selection.named(kept, self._select)
            if not found:
                given = config.option.keyword
                config.option.keyword = f"({given}) and ({self._select})" if given else self._select
            kept = found or kept
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Say which there are."""
        self._tell({"collected": selection.titles(session.items)})
        self._turn()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Say which runs now."""
        self._reports = {}
        self._tell({"begins": nodeid})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep how a phase of the test ended."""
        self._reports[report.when or ""] = report

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Say how it ended."""
        reports = self._reports
        saved = self.profiling.saved.get(nodeid)
        failed = next((report for report in reports.values() if report.failed), None)
        self._tell(
            {
                "ends": nodeid,
                "folder": str(saved.folder) if saved else None,
                "unavailable": dict(saved.unavailable) if saved else {},
                "failed": failed.longreprtext if failed else None,
                "left_out": None if saved or failed else outcome.failure(reports) or "it was not profiled",
            }
        )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Say that it ended as pytest does, and not in the middle."""
        self._tell({"finished": int(exitstatus)})

    def _turn(self) -> None:
        """Wait, asleep, until it is this process's turn."""
        self._tell({"waits": True})
        if not os.read(self._read, 1):
            pytest.exit("the process that waits for profiles has ended")

    def _tell(self, message: Mapping[str, Any]) -> None:
        print(json.dumps(message), file=self._pipe, flush=True)
