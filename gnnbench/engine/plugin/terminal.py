"""What a session prints: notes, reasons for failures, a list of times, and pytest-benchmark's table."""

import sys
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Self

import pytest

from ..ground import json_io, units
from ..ground.errors import one_line
from ..measure import estimate
from ..show.lines import Note, wrapped
from ..show.measured import half_width, notes, remarks, times
from ..store.run_file import part_of
from . import pace

PROGRESS = "gnnbench-progress"
"""Name of a suite's plugin that prints a line for each benchmark."""

_TABLE_OPTIONS = tuple(
    f"--benchmark-{name}" for name in ("columns", "cprofile", "group-by", "name", "sort", "verbose")
)
"""Options of pytest-benchmark that make it show its whole table."""


def say(reporter: Any, text: str, command: str = "", **markup: bool) -> None:
    """Write a line that begins with the project's name; it may end with a command."""
    if reporter:
        reporter.write_line(wrapped(Note(f"gnnbench: {text}", command)), **markup)


def usage_error(text: str) -> pytest.UsageError:
    """Return the error for wrong usage; pytest writes `ERROR: ` and the text to standard error."""
    line = f"ERROR: gnnbench: {text}"
    # gnnbench reads the last line of processes that it starts, so the text is broken only on a terminal.
    return pytest.UsageError((wrapped(line) if sys.stderr.isatty() else line).removeprefix("ERROR: "))


class FailureText(str):
    """Why a test failed: one line for each reason. Long lines are broken only on a terminal."""

    __slots__ = ("reasons",)
    reasons: Sequence[Note]

    def __new__(cls, reasons: Sequence[Note]) -> Self:
        text = super().__new__(cls, "\n".join(map(str, reasons)))
        text.reasons = reasons
        return text

    def toterminal(self, writer: Any) -> None:
        for reason in self.reasons:
            writer.line(wrapped(reason))


def fail(report: pytest.TestReport, reason: Note, *, first: bool = False) -> None:
    """Mark the report of a test's call as failed; pytest's summary shows the first reason only."""
    others = report.longrepr.reasons if isinstance(report.longrepr, FailureText) else ()
    line = Note(one_line(reason.text), one_line(reason.command))
    report.longrepr = FailureText([line, *others] if first else [*others, line])
    report.outcome = "failed"
    vars(report).pop("wasxfail", None)  # with it, pytest would not count the test as failed


def record(item: pytest.Item) -> dict[str, Any] | None:
    """Return a benchmark's entry in the list of times. Returns None if gnnbench did not time it."""
    benchmark = item.funcargs.get("benchmark")  # type: ignore[attr-defined]
    measurement = part_of(benchmark.extra_info).measurement if benchmark else None
    if not measurement:
        return None
    seconds = times(measurement)
    time = f"{units.seconds(seconds[0]):>9} ±{half_width(*seconds).text:>5} "
    return {"time": time, "remarks": remarks(measurement)}


def summarize(reporter: Any, records: Mapping[str, dict[str, Any]]) -> None:
    """Write the list of times: a line for each benchmark, and below them the notes."""
    headline = f"time of a call with its {estimate.SHOWN_LEVEL:.0%} interval"
    say(reporter, "; ".join(filter(None, (headline, pace.disturbance()))))
    for name, entry in records.items():
        time = entry["time"]
        reporter.write_line(wrapped(f"{time}{name}", indent=" " * len(time)))
    rows = ((name, entry["remarks"]) for name, entry in records.items())
    for line in notes(rows, len(records), reporter.verbosity):
        say(reporter, line)


def shorten_table(config: pytest.Config) -> None:
    """Leave gnnbench's benchmarks out of pytest-benchmark's table, unless an option needs that table."""
    # Only the command line counts, because a project's addopts may contain these options.
    has_option = any(str(word).startswith(_TABLE_OPTIONS) for word in config.invocation_params.args)
    if not has_option and not config.getoption("benchmark_compare"):
        config.pluginmanager.register(_ShortTable(), "gnnbench-short-table")


class _ShortTable:
    """Leaves gnnbench's benchmarks out of pytest-benchmark's table.

    Histograms keep them, because the wrapper of `histogram.py` runs inside this one.
    """

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_benchmark_group_stats(self) -> Generator[None, Any, Any]:
        """Keep only the benchmarks that gnnbench does not show."""
        groups = [
            (name, [row for row in entries if "measurement" not in json_io.gnnbench_part(row["extra_info"])])
            for name, entries in (yield)
        ]
        return [(name, entries) for name, entries in groups if entries]
