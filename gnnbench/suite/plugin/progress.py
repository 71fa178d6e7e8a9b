"""A line for each benchmark of the suite while it runs."""

from collections.abc import Sequence
from typing import Any

import pytest

from ...engine.ground.errors import one_line
from ..spec import Spec
from .session import spec_of

REPORT = "gnnbench_suite"
"""Attribute of a test's report: its results, as `terminal.record` returns them."""


class SessionProgress:
    """Prints a line for each benchmark: number, parameters, and time or outcome."""

    def __init__(self, reporter: Any, items: Sequence[pytest.Item]) -> None:
        self._reporter = reporter
        self._test_ids = {item.nodeid for item in items}
        self._specs = {item.nodeid: spec_of(item) for item in items if not item.get_closest_marker("skip")}
        self._number = 0
        self._finished = False
        self._shown: set[str] = set()
        self._heading = ""
        self._width = max((len(spec.operation) for spec in self._specs.values()), default=0)
        reporter.showfspath = False

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Suppress pytest's letters between the progress lines, but not the words of its summary."""
        if report.nodeid not in self._test_ids or self._finished or hasattr(report, "wasxfail"):
            return None
        if report.when == "call" or not report.passed:
            return report.outcome if report.when == "call" or report.skipped else "error", "", ""
        return "", "", ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Restore pytest's reporting for its summary."""
        self._finished = True

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Write the heading of a new group; in a terminal, also show the running benchmark."""
        spec = self._specs.get(nodeid)
        if spec is None:
            return
        self._number += 1
        if spec.labels.heading != self._heading:
            self._heading = spec.labels.heading
            self._reporter.write_line(one_line(self._heading), bold=True)
        if self._reporter.isatty:
            self._reporter.rewrite(self._line(spec, "…"), erase=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the time or outcome of a finished benchmark."""
        spec = self._specs.get(report.nodeid)
        if spec is None or report.nodeid in self._shown or (report.passed and report.when != "call"):
            return
        self._shown.add(report.nodeid)
        record = getattr(report, REPORT, None)
        if record and report.passed:
            result = record["result"]
        elif hasattr(report, "wasxfail"):
            result = "XPASS" if report.passed else "XFAIL"
        else:
            result = report.outcome.upper()
        markup = {"red": report.failed, "yellow": report.skipped}
        if self._reporter.isatty:
            self._reporter.rewrite(self._line(spec, result), erase=True, **markup)
            self._reporter.write_line("")
        else:
            self._reporter.write_line(self._line(spec, result), **markup)

    def _line(self, spec: Spec, result: str) -> str:
        count = str(len(self._specs))
        number = f"[{self._number:{len(count)}}/{count}]"
        direction = spec.labels.direction
        return f"{number} {spec.operation:{self._width}} {direction:7} {spec.platform:6} {result}"
