"""How a test ended, in a line."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

FIXTURES = "gnnbench-fixtures"
"""The name under which the plugin registers its fixtures. An older gnnbench has none of that name."""
_LONGEST = 300
_NAMED = re.compile(r"\s*[\w.]*(Error|Exception|Exit|Interrupt)\b")
_PLACES = {"setup": " in set-up", "teardown": " in tear-down"}


class Failure(NamedTuple):
    """Why a test did not pass."""

    text: str
    skipped: bool
    """Whether it was skipped, rather than failed."""


def failure(reports: Mapping[str, pytest.TestReport]) -> Failure | None:
    """Say what went wrong first; None where nothing did.

    Args:
        reports: of the test's phases.
    """
    for when, report in reports.items():
        if report.passed:
            continue
        if hasattr(report, "wasxfail"):
            reason = f": {report.wasxfail}" if report.wasxfail else ""
            return Failure(f"failed, as expected (xfail{reason})", skipped=False)
        if report.skipped:
            return Failure(line(report), skipped=True)
        return Failure(f"raised{_PLACES.get(when, '')}: {line(report)}", skipped=False)
    return None


def fixtures(config: pytest.Config) -> str:
    """Say which gnnbench a session has its fixtures of, to be added to a failure; empty without gnnbench."""
    if not config.pluginmanager.has_plugin("gnnbench"):
        return ""
    folder = Path(str(sys.modules["gnnbench"].__file__)).parents[1]
    if config.pluginmanager.has_plugin(FIXTURES):
        return f" (fixtures of gnnbench in {folder})"
    return f" (gnnbench in {folder} is older and brings no fixtures)"


def line(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return what a report says that did not pass."""
    found = report.longrepr
    if isinstance(found, tuple):
        text = found[2].replace("Skipped: ", "skipped: ", 1)
    elif crash := getattr(found, "reprcrash", None):
        text = crash.message.strip().partition("\n")[0]
    else:
        lines = [one for one in str(found).splitlines() if one.strip()]
        marked = [one.removeprefix("E") for one in lines if one.startswith("E  ")]
        named = [one for one in marked if _NAMED.match(one)]  # where a syntax error's place comes first
        text = (named or marked or lines[-1:] or [""])[0]
    return " ".join(text.split())[:_LONGEST]
