"""Withholds the reports of tests until all benchmarks are timed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest
from _pytest.runner import runtestprotocol


@dataclass(eq=False, kw_only=True)
class Withheld:
    """Withholds the reports of a test that will be compared, unless a plugin runs it several times."""

    may_be_judged: Callable[[pytest.Item], bool]
    """Whether a test's reports may be withheld, asked before it runs."""
    is_judged: Callable[[pytest.Item, list[pytest.TestReport]], bool]
    """Whether they are."""
    show: Callable[[list[pytest.TestReport]], object]
    """Is called with reports when they are withheld."""
    tests: dict[pytest.Item, list[pytest.TestReport]] = field(default_factory=dict)
    """The withheld reports by test, in the order of the tests."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a test whose reports may be withheld."""
        reruns = item.config.pluginmanager.get_plugin("rerunfailures")
        is_repeated = item.get_closest_marker("flaky") or (reruns and reruns.get_reruns_count(item))
        if is_repeated or not self.may_be_judged(item):
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        if self.is_judged(item, reports):
            self.tests[item] = reports
            self.show(reports)
        else:
            _report(item, reports)
        return True

    def release(self, before: Callable[[pytest.Item], object]) -> None:
        """Report all withheld tests."""
        for item, reports in self.tests.items():
            before(item)
            _report(item, reports)
        self.tests.clear()


def _report(item: pytest.Item, reports: Iterable[pytest.TestReport]) -> None:
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
