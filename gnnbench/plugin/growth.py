"""`--gnn-growth`: fails a test whose benchmark leaves more and more behind."""

from collections.abc import Generator, Mapping
from typing import Any

import pytest

from .. import units
from ..measure import extra_info
from ..report import growth as wording
from ..settings import Settings
from . import writing
from .session import attached, settings_of

PLUGIN = "gnnbench-growth"


class GrowthCheck:
    """Judges each benchmark, and says how many grow and which were left out."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Fail the test of a benchmark that grows."""
        report = yield
        benchmark: Any = getattr(item, "funcargs", {}).get("benchmark")
        found = extra_info.part(getattr(benchmark, "extra_info", None)).get("growth")
        if call.when == "call" and found:
            why, fails = _judged(found, settings_of(item.config), item.nodeid)
            # Plain data, because xdist's workers send them to the main process.
            report.gnnbench_growth = {"why": why, "fails": fails, "left_out": found.get("left_out")}  # type: ignore[attr-defined]
            if fails and report.passed:
                writing.fail(report, why)
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write how many benchmarks grow, what is tolerated, and what was left out."""
        found = attached(terminalreporter, "gnnbench_growth")
        watched = {name: one for name, one in found.items() if not one["left_out"]}
        count = units.count(len(watched), "benchmark")
        failed = sum(one["fails"] for one in watched.values())
        terminalreporter.ensure_newline()
        writing.say(
            terminalreporter,
            f"{count} called 50 times, none timed: {failed or 'none'} grow{'' if failed > 1 else 's'}",
        )
        for name, one in watched.items():
            if one["why"] and not one["fails"]:
                writing.say(terminalreporter, f"tolerated: {name} {one['why']}")
        left_out = [f"{name} ({one['left_out']})" for name, one in found.items() if one["left_out"]]
        if left_out:
            writing.say(terminalreporter, f"{len(left_out)} left out: {', '.join(left_out)}")


def _judged(found: Mapping[str, Any], settings: Settings, name: str) -> tuple[str, bool]:
    """Return what grows, with the rule that matters, and whether the test fails."""
    why = "" if found.get("left_out") else wording.sentence(found)
    if not why:
        return "", False
    if rule := settings.rule("ignore", name):
        return f"{why}: ignored, {rule.ignore} ({settings.place(rule)})", False
    rule = settings.rule("max_growth_bytes", name)
    if not rule or not rule.max_growth_bytes or found["slower"]:
        return why, True
    each = -(-found["bytes"] // found["calls"])
    limit = units.size(rule.max_growth_bytes)
    fails = each > rule.max_growth_bytes
    return (
        f"{why}; {units.size(each)} a call, {'above' if fails else 'within'} max_growth = {limit} "
        f"({settings.place(rule)})"
    ), fails
