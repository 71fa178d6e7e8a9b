"""Fails a test whose benchmark is above a limit of the project's settings, with or without a baseline."""

from collections.abc import Generator
from typing import Any

import pytest

from .. import units
from . import writing
from .session import settings_of
from .timing import timing_of

PLUGIN = "gnnbench-limits"
GATE = "gnnbench-gate"
EXCEEDED = pytest.StashKey[list[str]]()
"""In a test's stash: a line for each limit that its benchmark is above."""


class Limits:
    """Checks the limits of each benchmark, and names the rules that expired.

    Args:
        config: of the session.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._collected = False
        """Whether there is a benchmark among the tests."""

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
            for line in () if self._is_withheld(item) else lines:
                writing.fail(report, line)
        return report

    def _is_withheld(self, item: pytest.Item) -> bool:
        config = self._config
        return config.pluginmanager.has_plugin(GATE) and timing_of(config).settings(item) is not None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the rules that expired."""
        if self._collected:
            for line in settings_of(self._config).expired():
                writing.say(terminalreporter, line)


def _exceeded(item: pytest.Item) -> list[str]:
    """Return a line for each limit that a test's benchmark is above; none if its verdict is ignored."""
    settings, name = settings_of(item.config), item.nodeid
    if settings.rule("ignore", name):
        return []
    lines = []
    seconds, rule = _seconds(item), settings.rule("max_time_seconds", name)
    if rule and seconds and rule.max_time_seconds and seconds > rule.max_time_seconds:
        above = units.fraction(seconds / rule.max_time_seconds - 1)
        limit = units.seconds(rule.max_time_seconds)
        lines.append(f"{units.seconds(seconds)}, {above} above max_time = {limit} ({settings.place(rule)})")
    return lines


def _seconds(item: pytest.Item) -> float | None:
    """Return a benchmark's time: gnnbench's estimate, or pytest-benchmark's median; None: it has none."""
    benchmark: Any = getattr(item, "funcargs", {}).get("benchmark")
    if benchmark is None:
        return None
    ours = getattr(benchmark, "extra_info", {}).get("gnnbench", {})
    if "growth" in ours:
        return None  # its calls were timed to see a trend
    if measured := ours.get("measurement"):
        return float(measured["location_ns"]) / 1e9
    stats = getattr(benchmark, "stats", None)
    return float(stats.stats.median) if stats else None
