"""Reports of tests that wait until all benchmarks are timed: a part of the plugin."""

from collections.abc import Callable, Generator, Iterable
from contextlib import suppress

import pytest


class _WithheldError(Exception):
    """Raised in the place of a hook's call, and caught around it: so no other plugin sees the call."""


class Withheld:
    """Lets a test run as it does, and withholds the reports of its last try where it is to be judged.

    Whoever runs the test, pytest or a plugin that runs it again, calls the same hooks. Tries before the last
    one are reported when they end.
    """

    def __init__(
        self,
        *,
        may_be_judged: Callable[[pytest.Item], bool],
        is_judged: Callable[[pytest.Item, list[pytest.TestReport]], bool],
        show: Callable[[list[pytest.TestReport]], object],
    ) -> None:
        """Choose tests.

        Args:
            may_be_judged: told before it runs.
            is_judged: told by the reports of a try.
            show: called with the reports of a test that begins to wait.
        """
        self._may_be_judged = may_be_judged
        self._is_judged = is_judged
        self._show = show
        self.tests: dict[pytest.Item, list[pytest.TestReport]] = {}
        """Those that wait, in the order in which they ran."""
        self._running: pytest.Item | None = None
        self._reports: list[pytest.TestReport] = []
        """Of the try that runs."""

    def release(self, before: Callable[[pytest.Item], object]) -> None:
        """Report all tests that wait.

        Args:
            before: called with each test before it is reported.
        """
        for item, reports in self.tests.items():
            before(item)
            _report(item, reports)
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        self.tests.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Begin and end withholding."""
        self._running = item if self._may_be_judged(item) else None
        try:
            return (yield)
        finally:
            self._let_go()  # where the try was cut short

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Withhold a test's report, and let all others pass, as those of subtests."""
        if self._running and type(report) is pytest.TestReport:
            self._reports.append(report)
            raise _WithheldError
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logfinish(self) -> Generator[None, object, object]:
        """End a try: withhold it, or report it."""
        item = self._running
        if item and self._is_judged(item, self._reports):
            self._show(self._reports)
            self.tests[item], self._reports = self._reports, []
            raise _WithheldError
        self._let_go()
        self._running = item  # for the next try
        return (yield)

    def _let_go(self) -> None:
        item, self._running = self._running, None
        reports, self._reports = self._reports, []
        if item:
            _report(item, reports)

    @pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_runtest_logreport")
    def pytest_withhold_logreport(self) -> Generator[None, object, object]:
        """Stand around the hook that ends early."""
        with suppress(_WithheldError):
            return (yield)
        return None

    @pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_runtest_logfinish")
    def pytest_withhold_logfinish(self) -> Generator[None, object, object]:
        """Stand around the hook that ends early."""
        with suppress(_WithheldError):
            return (yield)
        return None


def _report(item: pytest.Item, reports: Iterable[pytest.TestReport]) -> None:
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
