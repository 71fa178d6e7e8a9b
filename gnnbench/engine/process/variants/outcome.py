"""How a test, and a session of pytest with its benchmarks, ended."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...ground import units

if TYPE_CHECKING:
    import pytest

FIXTURES = "gnnbench-fixtures"
"""The name under which the plugin registers its fixtures."""
_LONGEST = 300
_MOST_REASONS = 2
_SKIPPED = re.compile(r"base and head: |\bskipped: ")
BOTH_SKIP = "skipped on both sides"
_NAMED = re.compile(r"\s*[\w.]*(Error|Exception|Exit|Interrupt)\b")
_PLACES = {"setup": " in set-up", "teardown": " in tear-down"}


class Failure(NamedTuple):
    """Why a test did not pass."""

    text: str
    skipped: bool


def failure(reports: "Mapping[str, pytest.TestReport]") -> Failure | None:
    """Say what went wrong first; None where nothing did."""
    for when, report in reports.items():
        if report.passed:
            continue
        if hasattr(report, "wasxfail"):
            reason = f": {report.wasxfail}" if report.wasxfail else ""
            return Failure(f"failed, as expected (xfail{reason})", skipped=False)
        if report.skipped:
            return Failure(line(report), skipped=True)
        crash = getattr(report.longrepr, "reprcrash", None)
        where = f", {Path(crash.path).name}:{crash.lineno}" if crash else ""
        return Failure(f"raised{_PLACES.get(when, '')}: {line(report)}{where}", skipped=False)
    return None


def skips(reasons: Iterable[str], how: str = "skipped") -> list[str]:
    """Return a line on benchmarks that are skipped, with the most frequent reasons."""
    numbers = Counter(_SKIPPED.sub("", text) for text in reasons)
    if not numbers:
        return []
    more = len(numbers) - _MOST_REASONS
    texts = [text for text, _ in numbers.most_common(_MOST_REASONS)]
    texts += [f"and {units.count(more, 'other reason')}"] if more > 0 else []
    return [f"{units.count(numbers.total(), 'benchmark')} {how} ({'; '.join(texts)})"]


def fixtures(config: "pytest.Config") -> str:
    """Say which gnnbench a session has its fixtures of, to be added to a failure; empty without gnnbench."""
    if not config.pluginmanager.has_plugin(FIXTURES):
        return ""
    return f" (fixtures of gnnbench in {Path(str(sys.modules['gnnbench'].__file__)).parents[1]})"


def line(report: "pytest.TestReport | pytest.CollectReport") -> str:
    """Return what a report says that did not pass."""
    reason = report.longrepr
    if isinstance(reason, tuple):
        text = reason[2].replace("Skipped: ", "skipped: ", 1)
    elif crash := getattr(reason, "reprcrash", None):
        text = crash.message.strip().partition("\n")[0]
    else:
        lines = [line for line in str(reason).splitlines() if line.strip()]
        marked = [line.removeprefix("E") for line in lines if line.startswith("E  ")]
        named = [line for line in marked if _NAMED.match(line)]  # where a syntax error's place comes first
        text = (named or marked or lines[-1:] or [""])[0]
    return " ".join(text.split())[:_LONGEST]


@dataclass(frozen=True)
class Ending:
    """How a session ended; ids begin in pytest's working directory."""

    status: int
    """pytest's exit status."""
    benchmarks: tuple[str, ...] = ()
    """Ids of the tests that request `benchmark`."""
    left: int = 0
    """How many of them did not run."""
    failures: tuple[str, ...] = ()
    """The id of each benchmark that failed, and why."""
    others: tuple[str, ...] = ()
    """Ids of other tests that failed."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """By file that cannot be collected, the reason."""
    untimed: tuple[str, ...] = ()
    """Lines on tests that look like benchmarks, and that were not timed."""
    notes: tuple[str, ...] = ()
    """Lines on what was done otherwise than the suite says."""
    deselected: tuple[str, ...] = ()
    """Ids of the benchmarks that options or plugins deselect."""
    overriding: tuple[str, ...] = ()
    """Arguments of pytest that undo it."""

    @property
    def pytest_ended(self) -> str:
        """With which status, and which tests without a benchmark failed."""
        ended = f"pytest ended with {self.status}"
        if not self.others:
            return ended
        failed = units.count(len(self.others), "failed test")
        return f"{ended} because of {failed} without a benchmark ({units.listed(self.others, 1)})"

    @property
    def failure(self) -> str:
        """What is wrong with the benchmarks; empty: nothing is."""
        if self.failures:
            more = len(self.failures) - 1
            return f"{self.failures[0]}{f', and {more} more failed' if more else ''}"
        for file, reason in self.refused.items():
            return f"{file} cannot be collected: {reason}"
        if self.left:
            return f"{self.pytest_ended}, and {units.count(self.left, 'benchmark')} did not run"
        return ""

    def lines(self) -> list[str]:
        """Return what to tell of a session whose benchmarks passed."""
        passed = f"the benchmarks passed, but {self.pytest_ended}"
        return [*self.notes, *self.untimed, *([passed] if self.status else [])]
