"""`--benchmark-histogram`: draws charts of times in place of pytest-benchmark's, which need pygal."""

from collections.abc import Generator, Sequence
from itertools import count
from typing import Any

import pytest
from pytest_benchmark.utils import slugify

from ..ground import devices, environment, packages, units
from ..ground.errors import UsageError
from . import terminal

_Group = tuple[str | None, Sequence[dict[str, Any]]]
"""A group of benchmarks as pytest-benchmark makes it: its name and its benchmarks."""
_LONGEST = 60
"""Maximum length of a group's name in a file name, in characters."""


def take_over(config: pytest.Config) -> None:
    """If `--benchmark-histogram` is given, let gnnbench draw in place of pytest-benchmark."""
    prefixes = config.getoption("benchmark_histogram", None)
    if not prefixes:
        return
    if reason := packages.missing(packages.DRAWING):
        raise terminal.usage_error(f"--benchmark-histogram: {reason}")
    config.option.benchmark_histogram = []
    config.pluginmanager.register(_Histogram(config, prefixes[-1]), "gnnbench-histogram")


class _Histogram:
    """Draws each group of benchmarks, as SVG and PNG."""

    def __init__(self, config: pytest.Config, prefix: str) -> None:
        self._config, self._prefix = config, prefix
        self._groups: Sequence[_Group] = ()
        self._by_operation = False
        self._failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_benchmark_group_stats(self, group_by: str) -> Generator[None, Any, Any]:
        self._groups = yield
        self._by_operation = group_by == "group"
        return self._groups

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Remember which tests fail, because their times are not drawn."""
        if call.when == "call":
            change = self._failed.add if call.excinfo else self._failed.discard
            change(item.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Draw the benchmarks whose test did not fail."""
        groups = [
            (name, rows)
            for name, entries in self._groups
            if (rows := [entry for entry in entries if entry["fullname"] not in self._failed])
        ]
        timed = sum(len(rows) for _, rows in self._groups)
        drawn = sum(len(rows) for _, rows in groups)
        if timed > drawn:
            left_out = units.count(timed - drawn, "benchmark")
            terminal.say(terminalreporter, f"not drawn, because their tests failed: {left_out}")
        elif not timed and not self._config.option.collectonly:
            terminal.say(terminalreporter, "--benchmark-histogram: no benchmark was timed")
        try:
            if groups:
                self._draw(terminalreporter, groups)
        except UsageError as error:
            line = f"failed: --benchmark-histogram: {error}; give another prefix"
            terminal.say(terminalreporter, line, red=True)
            session = terminalreporter._session  # noqa: SLF001
            if session and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _draw(self, reporter: pytest.TerminalReporter, groups: Sequence[_Group]) -> None:
        """Draw the groups. Raises UsageError if a file cannot be written."""
        from ..show import histogram, slides
        from ..show.view import environment_facts

        device = devices.resolve(self._config.getoption("gnn_device") or "auto")
        machine = environment.collect(self._config.rootpath, device=device)
        footer = slides.footer(environment_facts(machine))
        paths: set[str] = set()
        for name, picture in histogram.pictures(groups, by_operation=self._by_operation):
            slug = slugify(name)[:_LONGEST]
            file = f"{self._prefix}-{slug}" if slug else self._prefix
            candidates = (f"{file}-{number}" if number > 1 else file for number in count(1))
            path = next(candidate for candidate in candidates if candidate not in paths)
            paths.add(path)
            slides.save(picture, footer, self._config.invocation_params.dir / path)
            terminal.say(reporter, f"drew {path}.svg and .png")
