"""Fails a test whose benchmark exceeds a limit in the project's settings, with or without a baseline."""

from collections.abc import Generator

import pytest

from ..ground import units
from ..show.lines import Note
from ..store.run_file import part_of
from ..store.suite import installed
from . import terminal
from .session import benchmark_part, options_of, seconds_of, settings_of

GATE = "gnnbench-gate"
"""Name of the plugin that compares, which is registered only with `--benchmark-compare`."""


class LimitCheck:
    """Fails a test whose benchmark exceeds its time limit, or whose counters are not the expected ones."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._ignored: list[str] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Fail a test that exceeds its limit, or, if the session is compared, has unexpected counters."""
        report = yield
        if call.when == "call" and report.passed:
            for reason in filter(None, (self._fault(item), _exceeded(item))):
                terminal.fail(report, Note(reason))
        return report

    def _fault(self, item: pytest.Item) -> str:
        """Return how a benchmark's counters differ from those that its suite expects. Empty if they agree."""
        part, config = benchmark_part(item), self._config
        if not config.pluginmanager.has_plugin(GATE) or "measurement" not in part:
            return ""
        strict, settings = options_of(config).strict, settings_of(config)
        fault = installed().fault(config.rootpath, part_of({"gnnbench": part}), strict=strict)
        if fault and (rule := settings.rule("ignore", item.nodeid)):
            self._ignored.append(f"{item.nodeid}: ignored: {settings.reason(rule)}: {fault}")
            return ""
        return fault or ""

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List the unexpected counters that rules ignore."""
        for line in self._ignored:
            terminal.say(terminalreporter, line)


def _exceeded(item: pytest.Item) -> str:
    """Return how far a test's benchmark is above its limit. Empty if it is not, or if a rule ignores it."""
    settings, name = settings_of(item.config), item.nodeid
    rule, seconds = settings.rule("max_time_seconds", name), seconds_of(item)
    limit = rule and rule.max_time_seconds
    if settings.rule("ignore", name) or not (rule and limit and seconds and seconds > limit):
        return ""
    ratio = units.ratio(seconds / limit, changed=True)
    return f"{units.seconds(seconds)}, {ratio} max_time = {units.seconds(limit)} ({settings.place(rule)})"
