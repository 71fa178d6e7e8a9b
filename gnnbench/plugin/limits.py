"""Fails a test whose benchmark is above a limit of the project's settings, with or without a baseline."""

from collections.abc import Generator

import pytest

from .. import units
from ..variants.collected import declares, unmatched, whole_folders
from . import writing
from .session import seconds_of, settings_of
from .timing import timing_of

GATE = "gnnbench-gate"
EXCEEDED = pytest.StashKey[list[str]]()
"""In a test's stash: a line for each limit that its benchmark is above."""

_NOT_WEIGHED = "benchmark.pedantic fixes its calls, or this system does not tell the resident set"


class LimitCheck:
    """Checks the limits of each benchmark, and names the rules that expired or match no benchmark."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._collected = False
        """Whether there is a benchmark among the tests."""
        self._names: set[str] = set()
        """The benchmarks that were collected, also those that are deselected."""
        self._is_whole = True
        """Whether all files could be collected."""
        self._not_weighed: dict[str, str] = {}
        """The rule that limits the memory of each benchmark whose memory was not measured, by its id."""

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
        """Fail a test above a limit. The gate does so itself for the reports that it withholds."""
        report = yield
        if call.when == "call" and report.passed:
            settings, timing = settings_of(self._config), timing_of(self._config)
            item.stash[EXCEEDED] = lines = _exceeded(item)
            rule, weight = (
                settings.rule("max_memory_bytes", item.nodeid),
                timing.kept.weighed.get(item.nodeid),
            )
            if rule and seconds_of(item) and (weight is None or weight.limited_bytes is None):
                self._not_weighed[item.nodeid] = settings.place(rule)
            if not (self._config.pluginmanager.has_plugin(GATE) and timing.instrument(item)):
                for line in lines:
                    writing.fail(report, line)
        return report

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the limits that were not checked, and the rules that expired or match nothing."""
        for name, place in self._not_weighed.items():
            writing.say(terminalreporter, f"{name}: max_memory ({place}) not checked: {_NOT_WEIGHED}")
        if self._collected:
            settings = settings_of(self._config)
            folders = whole_folders(self._config) if self._is_whole else None
            idle = [] if folders is None else unmatched(settings, self._names, folders)
            for line in (*settings.expired(), *idle):
                writing.say(terminalreporter, line)


def _exceeded(item: pytest.Item) -> list[str]:
    """Return a line for each limit that a test's benchmark is above; none if its verdict is ignored."""
    settings, name, lines = settings_of(item.config), item.nodeid, []
    if settings.rule("ignore", name):
        return []
    rule, seconds = settings.rule("max_time_seconds", name), seconds_of(item)
    limit = rule and rule.max_time_seconds
    if rule and limit and seconds and seconds > limit:
        above = f"{units.fraction(seconds / limit - 1)} above max_time = {units.seconds(limit)}"
        lines.append(f"{units.seconds(seconds)}, {above} ({settings.place(rule)})")
    rule, weight = settings.rule("max_memory_bytes", name), timing_of(item.config).kept.weighed.get(name)
    most, size = rule and rule.max_memory_bytes, weight and weight.limited_bytes
    if rule and most and weight and size and size > most:
        text = units.size(size)
        found = f"resident set: +{text}" if weight.peak_bytes is None else f"{text} beside the inputs"
        above = f"{units.fraction(size / most - 1)} above max_memory = {units.size(most)}"
        lines.append(f"{found}, {above} ({settings.place(rule)})")
    return lines
