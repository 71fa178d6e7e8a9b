"""Long lines in pytest's output: broken at words in a terminal, whole in a pipe."""

import shutil
import sys
from typing import Any

import pytest

from ..ground.errors import one_line
from ..show.lines import wrapped


def lines(config: pytest.Config, *texts: str) -> list[str]:
    """Return lines for pytest's header, broken where they are longer than the terminal."""
    columns = width(config.pluginmanager.get_plugin("terminalreporter"))
    return [wrapped(text, columns) for text in texts]


def width(reporter: Any) -> int | None:
    """Return the characters per line of pytest's terminal reporter; None: there is none, or no terminal."""
    return _columns(reporter._tw) if reporter else None  # noqa: SLF001


def _columns(writer: Any) -> int | None:
    return writer.fullwidth if writer._file.isatty() else None  # noqa: SLF001


def say(reporter: Any, text: str, **markup: bool) -> None:
    """Write a line that begins with the project's name."""
    if reporter:
        reporter.write_line(wrapped(f"gnnbench: {text}", width(reporter)), **markup)


def usage_error(text: str) -> pytest.UsageError:
    """Return the error for wrong usage; pytest writes `ERROR: ` and its text on standard error."""
    columns = shutil.get_terminal_size().columns if sys.stderr.isatty() else None
    return pytest.UsageError(wrapped(f"ERROR: gnnbench: {text}", columns).removeprefix("ERROR: "))


class FailureText(str):
    """Why a test has failed, a line for each reason: whole in files, broken at words in a terminal."""

    __slots__ = ()

    def toterminal(self, writer: Any) -> None:
        """Write the lines."""
        for reason in self.split("\n"):
            writer.line(wrapped(reason, _columns(writer)))


def fail(report: pytest.TestReport, reason: str, *, first: bool = False) -> None:
    """Mark the report of a test's call as failed.

    Args:
        first: whether it stands before other reasons: pytest's last lines have the first one only.
    """
    lines = [one_line(reason)]
    if report.failed:
        lines.insert(len(lines) if first else 0, str(report.longrepr))
    report.longrepr = FailureText("\n".join(lines))
    report.outcome = "failed"
    vars(report).pop("wasxfail", None)  # pytest would not count it as failed
