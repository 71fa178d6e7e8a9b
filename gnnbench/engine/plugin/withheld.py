"""Withholds the reports of tests until all benchmarks are timed."""

from collections.abc import Iterable

import pytest
from _pytest.runner import runtestprotocol

from . import records, terminal
from .timing import timing_of


class Withheld:
    """Withholds the reports of timed benchmarks, except those of tests that a plugin repeats."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.tests: dict[pytest.Item, list[pytest.TestReport]] = {}
        """The withheld reports by test, in the order of the tests."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a test, and withhold its reports if it passed and gnnbench timed it."""
        reruns = item.config.pluginmanager.get_plugin("rerunfailures")
        is_repeated = item.get_closest_marker("flaky") or (reruns and reruns.get_reruns_count(item))
        if is_repeated or timing_of(self._config).instrument(item) is None:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        if all(report.passed for report in reports) and item.nodeid in records.timed(self._config):
            self.tests[item] = reports
            self.show(reports)
        else:
            _report(item, reports)
        return True

    def show(self, reports: Iterable[pytest.TestReport]) -> None:
        """Show the progress line of gnnbench's suite at once, although the report is withheld."""
        if progress := self._config.pluginmanager.get_plugin(terminal.PROGRESS):
            for report in reports:
                progress.pytest_runtest_logreport(report)

    def release(self) -> None:
        """Report all withheld tests, each after the name of its file, as pytest prints them."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        for item, reports in self.tests.items():
            if reporter:
                reporter.pytest_runtest_logstart(item.nodeid, item.location)
            _report(item, reports)
        self.tests.clear()


def _report(item: pytest.Item, reports: Iterable[pytest.TestReport]) -> None:
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
