"""Fails a test whose benchmark is above a limit of the project's settings, with or without a baseline."""

from collections.abc import Generator
from typing import Any

import pytest

from .. import units
from ..measure import extra_info
from ..results.parts import NOT_TIMED
from ..variants.collected import unmatched, whole_folders
from . import writing
from .session import settings_of
from .timing import timing_of

PLUGIN = "gnnbench-limits"
GATE = "gnnbench-gate"
EXCEEDED = pytest.StashKey[list[str]]()
"""In a test's stash: a line for each limit that its benchmark is above."""

_NOT_WEIGHED = "benchmark.pedantic fixes its calls, or this system does not tell the resident set"


class Limits:
    """Checks the limits of each benchmark, and names the rules that expired or match no benchmark.

    Args:
        config: of the session.
    """

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
        if "benchmark" in getattr(item, "fixturenames", ()):
            self._names.add(item.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Notice a file that cannot be collected, or skips itself."""
        self._is_whole &= report.passed

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember whether the rules matter."""
        self._collected = any("benchmark" in getattr(item, "fixturenames", ()) for item in session.items)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Fail a test above a limit. The gate does so itself for the reports that it withholds."""
        report = yield
        if call.when == "call" and report.passed:
            item.stash[EXCEEDED] = lines = _exceeded(item)
            self._note_not_weighed(item)
            for line in () if self._is_withheld(item) else lines:
                writing.fail(report, line)
        return report

    def _is_withheld(self, item: pytest.Item) -> bool:
        config = self._config
        return config.pluginmanager.has_plugin(GATE) and timing_of(config).settings(item) is not None

    def _note_not_weighed(self, item: pytest.Item) -> None:
        settings = settings_of(self._config)
        rule, weight = (
            settings.rule("max_memory_bytes", item.nodeid),
            timing_of(self._config).weight(item.nodeid),
        )
        if rule and _seconds(item) and (weight is None or weight.limited_bytes is None):
            self._not_weighed[item.nodeid] = settings.place(rule)

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
    if settings_of(item.config).rule("ignore", item.nodeid):
        return []
    return [line for line in (_above_time(item), _above_memory(item)) if line]


def _above_time(item: pytest.Item) -> str:
    settings = settings_of(item.config)
    found, rule = _seconds(item), settings.rule("max_time_seconds", item.nodeid)
    limit = rule and rule.max_time_seconds
    if not rule or not limit or not found or found <= limit:
        return ""
    above = f"{units.fraction(found / limit - 1)} above max_time = {units.seconds(limit)}"
    return f"{units.seconds(found)}, {above} ({settings.place(rule)})"


def _above_memory(item: pytest.Item) -> str:
    settings = settings_of(item.config)
    weight, rule = timing_of(item.config).weight(item.nodeid), settings.rule("max_memory_bytes", item.nodeid)
    limit, found = rule and rule.max_memory_bytes, weight and weight.limited_bytes
    if not rule or not limit or not weight or not found or found <= limit:
        return ""
    above = f"{units.fraction(found / limit - 1)} above max_memory = {units.size(limit)}"
    by_peak = weight.peak_bytes is not None
    size = f"{units.size(found)} beside the inputs" if by_peak else f"resident set: +{units.size(found)}"
    return f"{size}, {above} ({settings.place(rule)})"


def _seconds(item: pytest.Item) -> float | None:
    """Return a benchmark's time: gnnbench's estimate, or pytest-benchmark's median; None: it has none."""
    benchmark: Any = getattr(item, "funcargs", {}).get("benchmark")
    if benchmark is None:
        return None
    ours = extra_info.part(getattr(benchmark, "extra_info", None))
    if ours.keys() & NOT_TIMED:
        return None
    if measured := ours.get("measurement"):
        return float(measured["location_ns"]) / 1e9
    stats = getattr(benchmark, "stats", None)
    return float(stats.stats.median) if stats else None
