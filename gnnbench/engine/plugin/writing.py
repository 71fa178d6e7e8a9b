"""Long lines in pytest's output, broken at words."""

import sys
from collections.abc import Sequence
from typing import Any, Self

import pytest

from ..ground.errors import one_line
from ..show.lines import Note, wrapped


def say(reporter: Any, text: str, command: str = "", **markup: bool) -> None:
    """Write a line that begins with the project's name; it may end with a command."""
    if reporter:
        reporter.write_line(wrapped(Note(f"gnnbench: {text}", command)), **markup)


def usage_error(text: str) -> pytest.UsageError:
    """Return the error for wrong usage; pytest writes `ERROR: ` and the text to standard error."""
    line = f"ERROR: gnnbench: {text}"
    # A process started by gnnbench has no terminal: its last line is read by gnnbench, so it is not broken.
    return pytest.UsageError((wrapped(line) if sys.stderr.isatty() else line).removeprefix("ERROR: "))


class FailureText(str):
    """Why a test has failed: a line for each reason, broken only on a terminal."""

    __slots__ = ("reasons",)
    reasons: Sequence[Note]

    def __new__(cls, reasons: Sequence[Note]) -> Self:
        """Join the reasons."""
        text = super().__new__(cls, "\n".join(map(str, reasons)))
        text.reasons = reasons
        return text

    def toterminal(self, writer: Any) -> None:
        """Write the lines."""
        for reason in self.reasons:
            writer.line(wrapped(reason))


def fail(report: pytest.TestReport, reason: Note, *, first: bool = False) -> None:
    """Mark the report of a test's call as failed; pytest's summary shows the first reason only."""
    others = report.longrepr.reasons if isinstance(report.longrepr, FailureText) else ()
    line = Note(one_line(reason.text), one_line(reason.command))
    report.longrepr = FailureText([line, *others] if first else [*others, line])
    report.outcome = "failed"
    vars(report).pop("wasxfail", None)  # pytest would not count it as failed
