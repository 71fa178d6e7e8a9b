"""Long lines in pytest's output, broken at words."""

import sys
from typing import Any

import pytest

from ..ground.errors import one_line
from ..show.lines import wrapped


def say(reporter: Any, text: str, **markup: bool) -> None:
    """Write a line that begins with the project's name."""
    if reporter:
        reporter.write_line(wrapped(f"gnnbench: {text}"), **markup)


def usage_error(text: str) -> pytest.UsageError:
    """Return the error for wrong usage; pytest writes `ERROR: ` and its text on standard error."""
    line = f"ERROR: gnnbench: {text}"
    # A process that gnnbench starts has no terminal, and of its output the last line is read.
    return pytest.UsageError((wrapped(line) if sys.stderr.isatty() else line).removeprefix("ERROR: "))


class FailureText(str):
    """Why a test has failed, a line for each reason: whole in files."""

    __slots__ = ()

    def toterminal(self, writer: Any) -> None:
        """Write the lines."""
        for reason in self.split("\n"):
            writer.line(wrapped(reason))


def fail(report: pytest.TestReport, reason: str, *, first: bool = False) -> None:
    """Mark the report of a test's call as failed.

    `first`: whether it stands before other reasons: pytest's last lines have the first one only.
    """
    lines = [one_line(reason)]
    if report.failed:
        lines.insert(len(lines) if first else 0, str(report.longrepr))
    report.longrepr = FailureText("\n".join(lines))
    report.outcome = "failed"
    vars(report).pop("wasxfail", None)  # pytest would not count it as failed
