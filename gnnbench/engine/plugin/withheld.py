"""Withholds the reports of tests until all benchmarks are timed."""

from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import pytest


class _WithheldError(Exception):
    """Raised inside a hook and caught by the outermost wrapper, so that no other plugin sees the call."""


@dataclass(eq=False, kw_only=True)
class Withheld:
    """Withholds the reports of a test that will be compared.

    A plugin may run a test several times. Only the reports of the last attempt are withheld.
    """

    may_be_judged: Callable[[pytest.Item], bool]
    """Whether a test's reports may be withheld, asked before it runs."""
    is_judged: Callable[[pytest.Item, list[pytest.TestReport]], bool]
    """Whether they are withheld, given the reports of an attempt."""
    show: Callable[[list[pytest.TestReport]], object]
    """Is called with reports when they are withheld."""
    tests: dict[pytest.Item, list[pytest.TestReport]] = field(default_factory=dict)
    """The withheld reports by test, in the order of the tests."""
    _running: pytest.Item | None = None
    _reports: list[pytest.TestReport] = field(default_factory=list)
    """Reports of the current attempt."""

    def release(self, before: Callable[[pytest.Item], object]) -> None:
        """Report all withheld tests."""
        for item, reports in self.tests.items():
            before(item)
            _report(item, reports)
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        self.tests.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Collect the reports of a test, and release them if the test is interrupted."""
        self._running = item if self.may_be_judged(item) else None
        try:
            return (yield)
        finally:
            self._let_go()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Collect a test's report; other reports, such as those of subtests, pass."""
        if self._running and type(report) is pytest.TestReport:
            self._reports.append(report)
            raise _WithheldError
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logfinish(self) -> Generator[None, object, object]:
        """Withhold or release the reports of an attempt that has ended."""
        item = self._running
        if item and self.is_judged(item, self._reports):
            self.show(self._reports)
            self.tests[item], self._reports = self._reports, []
            raise _WithheldError
        self._let_go()
        self._running = item  # for the next attempt
        return (yield)

    def _let_go(self) -> None:
        item, self._running = self._running, None
        reports, self._reports = self._reports, []
        if item:
            _report(item, reports)

    @pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_runtest_logreport")
    def pytest_withhold_logreport(self) -> Generator[None, object, object]:
        """Catch the exception that hides the call from other plugins."""
        with suppress(_WithheldError):
            return (yield)
        return None

    @pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_runtest_logfinish")
    def pytest_withhold_logfinish(self) -> Generator[None, object, object]:
        """Catch the exception that hides the call from other plugins."""
        with suppress(_WithheldError):
            return (yield)
        return None


def _report(item: pytest.Item, reports: Iterable[pytest.TestReport]) -> None:
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
