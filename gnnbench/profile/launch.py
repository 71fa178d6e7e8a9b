"""Entry point of a profiling process, which then runs pytest.

It is loaded by file under another package name, as are the workers of `gnnbench ab`. The suite may import
another version of gnnbench, and the same code must profile both sides of a comparison.
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
from ..variants.overrides import ALONE, override
from ..variants.startup import die_with
from . import selection
from .hooks import Profiling
from .store import ProfileStore


def main() -> NoReturn:
    """Run pytest; the first argument is JSON: what to profile, and the pipes to the parent process."""
    terms = json.loads(sys.argv[1])
    arguments = sys.argv[2:]
    die_with(terms["coordinator"])
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that unfinished profiles are removed
    for pipe in (terms["read"], terms["write"]):
        os.set_inheritable(pipe, False)  # the suite's child processes may outlive it
    if sys.path and not sys.path[0]:
        sys.path[0] = os.getcwd()  # noqa: PTH109 - as `python -m pytest` does
    trees = Trees(terms["trees"])
    trees.install()
    sys.argv[:] = [str(Path(pytest.__file__).with_name("__main__.py")), *arguments]
    with os.fdopen(terms["write"], "w", encoding="utf-8") as pipe:
        telling = _Telling(pipe, terms)
        status = pytest.main(arguments, plugins=[CallersTree(trees), telling.profiling, telling])
    sys.exit(status)


class _Telling:
    """Reports how the benchmarks end to the parent process, one JSON object per line."""

    def __init__(self, pipe: TextIO, terms: Mapping[str, Any]) -> None:
        self._pipe, self._read = pipe, terms["read"]
        self._select, self._only = terms["select"], terms["only"]
        store = ProfileStore(Path(terms["folder"]))
        self.profiling = Profiling(terms["kinds"], terms["repeats"], store, self._turn)
        self._reports: dict[str, pytest.TestReport] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> None:
        override(config.option, {**ALONE, "gnn_strict": False})

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the selected benchmarks; pass an expression to pytest as its -k."""
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
        self._tell({"collected": selection.titles(session.items)})
        self._turn()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._reports = {}
        self._tell({"begins": nodeid})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports[report.when or ""] = report

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        reports = self._reports
        saved = self.profiling.saved.get(nodeid)
        failed = next((report for report in reports.values() if report.failed), None)
        why = outcome.failure(reports)
        self._tell(
            {
                "ends": nodeid,
                "folder": str(saved.folder) if saved else None,
                "unavailable": dict(saved.unavailable) if saved else {},
                "failed": failed.longreprtext if failed else None,
                "left_out": None if saved or failed else why.text if why else "it was not profiled",
            }
        )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Report that pytest ended regularly."""
        self._tell({"finished": int(exitstatus)})

    def _turn(self) -> None:
        """Wait, without using CPU, until it is this process's turn."""
        self._tell({"waits": True})
        if not os.read(self._read, 1):
            pytest.exit("the parent process has ended")

    def _tell(self, message: Mapping[str, Any]) -> None:
        print(json.dumps(message), file=self._pipe, flush=True)
