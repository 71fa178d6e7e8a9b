"""How a test ended, in a line."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

FIXTURES = "gnnbench-fixtures"
"""The name under which the plugin registers its fixtures. An older gnnbench has none of that name."""
_LONGEST = 300
_NAMED = re.compile(r"\s*[\w.]*(Error|Exception|Exit|Interrupt)\b")
_PLACES = {"setup": " in set-up", "teardown": " in tear-down"}


def failure(reports: Mapping[str, pytest.TestReport]) -> str | None:
    """Say what went wrong first; None where nothing did.

    Args:
        reports: of the test's phases.
    """
    for when, report in reports.items():
        if report.passed:
            continue
        if hasattr(report, "wasxfail"):
            return f"failed, as expected (xfail{': ' if report.wasxfail else ''}{report.wasxfail})"
        return line(report) if report.skipped else f"raised{_PLACES.get(when, '')}: {line(report)}"
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
