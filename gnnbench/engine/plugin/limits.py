"""Fails a test whose benchmark is above a limit of the project's settings, with or without a baseline."""

from collections.abc import Generator

import pytest

from ..ground import units
from ..process.variants.collected import declares, unmatched, whole_folders
from ..show.lines import Note
from ..store.benchmark import part_of
from ..store.suite import installed
from . import writing
from .session import options_of, ours_of, seconds_of, settings_of

GATE = "gnnbench-gate"


class LimitCheck:
    """Fails benchmarks for what they are, whatever the base is; names rules that match none."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._ignored: list[str] = []
        self._collected = False
        """Whether there is a benchmark among the tests."""
        self._names: set[str] = set()
        """The benchmarks that were collected, also those that are deselected."""
        self._is_whole = True
        """Whether all files could be collected."""

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Remember a benchmark."""
        if declares(item):
            self._names.add(item.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Notice a file that cannot be collected, or skips itself."""
        self._is_whole &= report.passed

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember whether the rules matter."""
        self._collected = any(map(declares, session.items))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Fail a test above a limit, and where benchmarks are judged, one that does other work."""
        report = yield
        if call.when == "call" and report.passed:
            for reason in filter(None, (self._fault(item), _exceeded(item))):
                writing.fail(report, Note(reason))
        return report

    def _fault(self, item: pytest.Item) -> str:
        """Return how the work of a benchmark differs from what its suite says; empty if it does not."""
        part, config = ours_of(item), self._config
        if not config.pluginmanager.has_plugin(GATE) or "measurement" not in part:
            return ""
        strict, settings = options_of(config).strict, settings_of(config)
        fault = installed().fault(config.rootpath, part_of({"gnnbench": part}), strict=strict)
        if fault and (rule := settings.rule("ignore", item.nodeid)):
            self._ignored.append(f"{item.nodeid}: ignored: {settings.reason(rule)}: {fault}")
            return ""
        return fault or ""

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the rules that match nothing."""
        if self._collected:
            settings = settings_of(self._config)
            folders = whole_folders(self._config) if self._is_whole else None
            idle = [] if folders is None else unmatched(settings, self._names, folders)
            for line in (*self._ignored, *idle):
                writing.say(terminalreporter, line)


def _exceeded(item: pytest.Item) -> str:
    """Return a line if a test's benchmark is above its limit; empty if not, or if its verdict is ignored."""
    settings, name = settings_of(item.config), item.nodeid
    rule, seconds = settings.rule("max_time_seconds", name), seconds_of(item)
    limit = rule and rule.max_time_seconds
    if settings.rule("ignore", name) or not (rule and limit and seconds and seconds > limit):
        return ""
    above = f"{units.fraction(seconds / limit - 1)} above max_time = {units.seconds(limit)}"
    return f"{units.seconds(seconds)}, {above} ({settings.place(rule)})"
