"""How a test and a pytest session ended, in lines for users."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...ground import units

if TYPE_CHECKING:
    import pytest

_LONGEST = 300
_MOST_REASONS = 2
_MOST_TESTS = 3
_SKIPPED = re.compile(r"base and head: |\bskipped: ")
"""Parts of reasons that `skips` removes, because its line already contains them."""
BOTH_SKIP = "skipped on both sides"
SEVERAL = "the test uses several fixtures `benchmark`: write a test for each call"
_ERROR = re.compile(r"\s*[\w.]*(Error|Exception|Exit|Interrupt)\b")
_PHASES = {"setup": " in set-up", "teardown": " in tear-down"}


class Failure(NamedTuple):
    """Why a test did not pass."""

    text: str
    skipped: bool


def failure(reports: "Mapping[str, pytest.TestReport]") -> Failure | None:
    """Return why a test did not pass, from its reports by phase. Returns None if it passed."""
    for phase, report in reports.items():
        if report.passed:
            continue
        if hasattr(report, "wasxfail"):
            reason = f": {report.wasxfail}" if report.wasxfail else ""
            return Failure(f"failed, as expected (xfail{reason})", skipped=False)
        if report.skipped:
            return Failure(line(report), skipped=True)
        crash = getattr(report.longrepr, "reprcrash", None)
        position = f", {Path(crash.path).name}:{crash.lineno}" if crash else ""
        return Failure(f"raised{_PHASES.get(phase, '')}: {line(report)}{position}", skipped=False)
    return None


def skips(reasons: Iterable[str], verb: str = "skipped") -> list[str]:
    """Return a line with the number of skipped benchmarks and the most frequent of their `reasons`."""
    numbers = Counter(_SKIPPED.sub("", text) for text in reasons)
    if not numbers:
        return []
    excess = len(numbers) - _MOST_REASONS
    texts = [text for text, _ in numbers.most_common(_MOST_REASONS)]
    texts += [f"and {units.count(excess, 'other reason')}"] if excess > 0 else []
    return [f"{units.count(numbers.total(), 'benchmark')} {verb} ({'; '.join(texts)})"]


def several_calls(names: Iterable[str]) -> list[str]:
    """Return a line on tests that time several calls; a name may occur several times."""
    tests = list(dict.fromkeys(names))
    advice = "only the first benchmark of a test counts; give each benchmark a test of its own"
    return [f"{advice}: {units.listed(tests, _MOST_TESTS)}"] if tests else []


def line(report: "pytest.TestReport | pytest.CollectReport") -> str:
    reason = report.longrepr
    if isinstance(reason, tuple):
        text = reason[2].replace("Skipped: ", "skipped: ", 1)
    elif crash := getattr(reason, "reprcrash", None):
        text = crash.message.strip().partition("\n")[0]
    else:
        lines = [line for line in str(reason).splitlines() if line.strip()]
        errors = [line.removeprefix("E") for line in lines if line.startswith("E  ")]
        causes = [line for line in errors if _ERROR.match(line)]  # a syntax error's file and line come first
        text = (causes or errors or lines[-1:] or [""])[0]
    return " ".join(text.split())[:_LONGEST]


@dataclass(frozen=True)
class Ending:
    """How a session ended; test ids are relative to pytest's working directory."""

    benchmarks: tuple[str, ...] = ()
    """Ids of the tests that request `benchmark`, including deselected ones."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Reasons why files could not be collected, by file."""
    untimed: tuple[str, ...] = ()
    """Lines on benchmarks that were not timed, and why."""
    notes: tuple[str, ...] = ()
    """Lines on options that were overridden, and on packages that are hidden."""
    overriding: tuple[str, ...] = ()
    """Arguments of pytest with which it would also select the deselected benchmarks."""
