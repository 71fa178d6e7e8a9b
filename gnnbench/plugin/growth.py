"""`--gnn-growth`: fails a test whose benchmark leaves more and more behind."""

from collections.abc import Generator, Mapping
from typing import Any

import pytest

from .. import units
from ..settings import Settings
from . import writing
from .session import attached, ours_of, settings_of

_SHOWN = 4
_TENSORS = ("torch.Tensor", "torch.nn.parameter.Parameter")


class GrowthCheck:
    """Judges each benchmark, and says how many grow and which were left out."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Fail the test of a benchmark that grows."""
        report = yield
        found = ours_of(item).get("growth")
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
        left_out = [f"{name} ({one['left_out']})" for name, one in found.items() if one["left_out"]]
        count = units.count(len(found) - len(left_out), "benchmark")
        failed = sum(one["fails"] for one in found.values())
        grow = f"{failed or 'none'} grow{'' if failed > 1 else 's'}"
        writing.say(terminalreporter, f"{count} called 50 times, none timed: {grow}")
        for name, one in found.items():
            if one["why"] and not one["fails"]:
                writing.say(terminalreporter, f"tolerated: {name} {one['why']}")
        if left_out:
            writing.say(terminalreporter, f"{len(left_out)} left out: {', '.join(left_out)}")


def _judged(found: Mapping[str, Any], settings: Settings, name: str) -> tuple[str, bool]:
    """Return what grows, with the rule that matters, and whether the test fails."""
    if "left_out" in found or not (why := sentence(found)):
        return "", False
    if rule := settings.rule("ignore", name):
        return f"{why}: ignored, {rule.ignore} ({settings.place(rule)})", False
    rule = settings.rule("max_growth_bytes", name)
    if not rule or not rule.max_growth_bytes or found["slower"]:
        return why, True
    each = -(-found["bytes"] // found["calls"])
    fails = each > rule.max_growth_bytes
    limit = f"{'above' if fails else 'within'} max_growth = {units.size(rule.max_growth_bytes)}"
    return f"{why}; {units.size(each)} a call, {limit} ({settings.place(rule)})", fails


def sentence(growth: Mapping[str, Any]) -> str:
    """Return what grows, in a line; an empty text if nothing does.

    Args:
        growth: as in a run file, see docs/formats.md.
    """
    calls, seen = growth["calls"], _seen(growth)
    parts = []
    if seen:
        parts.append(f"grows by {', '.join(seen)} in {calls} calls")
    elif growth["resident_bytes"]:
        size = units.size(growth["resident_bytes"])
        keepers = "native code, or numbers, texts or arrays, which are not counted"
        parts.append(f"grows by {size} of resident memory in {calls} calls, in {keepers}")
    if growth["slower"]:
        first, last = (units.seconds(growth["fastest_ns"][place] / 1e9) for place in (0, -1))
        parts.append(f"takes longer and longer: {first}, and after {calls} calls {last}")
    return "; ".join(parts)


def _seen(growth: Mapping[str, Any]) -> list[str]:
    """Return a text for each of the most frequent types of objects, and for tensors."""
    objects, memory = growth["objects"], growth["tensor_bytes"]
    texts = []
    for one in objects[:_SHOWN]:
        text = f"{one['count']:,} {one['type'].rpartition('.')[2]}"
        if memory and one["type"] in _TENSORS:
            text, memory = f"{text} ({units.size(memory)})", 0
        texts.append(text)
    if memory:
        texts.insert(0, f"{units.size(memory)} of tensors")
    if (more := len(objects) - _SHOWN) > 0:
        texts.append(f"objects of {units.count(more, 'other type')}")
    return texts
