"""Entry point of a profiling process, which then runs pytest.

It is loaded by file under another package name, as are the workers of `gnnbench ab`. The suite may import
another version of gnnbench, and the same code must profile both sides of a comparison.
"""

import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from ..variants import outcome
from ..variants.child_plugins import Overrides
from ..variants.collected import declares, only_marked
from ..variants.pipe import ClosedError, Link
from ..variants.startup import begin, run
from .hooks import Profiling
from .store import ProfileStore

_TITLE = ("operation", "direction", "platform")
"""Parameters that every title has."""


def main() -> NoReturn:
    """Run pytest and profile what the terms say."""
    terms, link, trees = begin()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that unfinished profiles are removed
    telling = _Telling(link, terms)
    sys.exit(run(trees, telling.profiling, telling))


class _Telling(Overrides):
    """Reports how the benchmarks end to the parent process."""

    def __init__(self, link: Link, terms: Mapping[str, Any]) -> None:
        super().__init__({"gnn_strict": False, "gnn_all": True})
        self._link = link
        self._select, self._only = terms["select"], terms["only"]
        store = ProfileStore(Path(terms["folder"]))
        self.profiling = Profiling(terms["kinds"], terms["repeats"], store, self._turn)
        self._reports: dict[str, pytest.TestReport] = {}
        self._marked: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the selected benchmarks; pass an expression to pytest as its -k."""
        self._marked = only_marked(items)
        kept = [item for item in items if declares(item)]
        if self._only:
            kept = [item for item in kept if item.nodeid in self._only]
        elif self._select:
            found = named(kept, self._select)
            if not found:
                given = config.option.keyword
                config.option.keyword = f"({given}) and ({self._select})" if given else self._select
            kept = found or kept
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        notes = [*self.lines(), *self._marked]
        self._link.send({"collected": titles(session.items), "notes": notes})
        self._turn()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._reports = {}
        self._link.send({"begins": nodeid})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports[report.when or ""] = report

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        reports = self._reports
        saved = self.profiling.saved.get(nodeid)
        failed = next((report for report in reports.values() if report.failed), None)
        why = outcome.failure(reports)
        self._link.send(
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
        self._link.send({"finished": int(exitstatus)})

    def _turn(self) -> None:
        """Wait, without using CPU, until it is this process's turn."""
        self._link.send({"waits": True})
        try:
            self._link.receive()
        except ClosedError:
            pytest.exit("the parent process has ended")


def named(items: Sequence[pytest.Item], name: str) -> list[pytest.Item]:
    """Return the benchmarks of an operation; if there is none, those whose operation begins with these words.

    `spmm` matches `spmm_sum` but not `spmms`. If a test has no parameter `operation`, its function's name
    without `test_` is the operation.
    """
    exact = [item for item in items if _operation(item) == name]
    return exact or [item for item in items if _operation(item).startswith(f"{name}_")]


def titles(items: Sequence[pytest.Item]) -> list[str]:
    """Return a title for each benchmark: `conv forward pyg`, and the parameters that differ."""
    names = dict.fromkeys(name for item in items for name in _parameters(item) if name not in _TITLE)
    several = [name for name in names if len({str(_parameters(item).get(name)) for item in items}) > 1]
    return [_title(item, (*_TITLE, *several)) for item in items]


def _title(item: pytest.Item, names: Sequence[str]) -> str:
    parameters = _parameters(item)
    if "operation" not in parameters:
        return item.name
    values = [parameters.get(name) for name in names]
    return " ".join(str(value) for value in values if isinstance(value, str | int | float))


def _operation(item: pytest.Item) -> str:
    function = getattr(item, "originalname", item.name)
    return str(_parameters(item).get("operation", function.removeprefix("test_")))


def _parameters(item: pytest.Item) -> Mapping[str, Any]:
    return getattr(getattr(item, "callspec", None), "params", {})
