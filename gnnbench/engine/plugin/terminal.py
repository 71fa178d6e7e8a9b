"""What a session prints: a list of times, and pytest-benchmark's table of all other benchmarks."""

from collections.abc import Generator, Mapping
from typing import Any

import pytest

from ..ground import json_io, units
from ..show.lines import wrapped
from ..show.measured import half_width, notes, remarks, times
from ..store.run_file import part_of
from . import pace, writing

PROGRESS = "gnnbench-progress"
"""Name of a suite's plugin that prints a line for each benchmark."""

_OF_THEIR_TABLE = tuple(
    f"--benchmark-{name}" for name in ("columns", "cprofile", "group-by", "name", "sort", "verbose")
)
"""Options of pytest-benchmark that make it show its whole table."""


def record(item: pytest.Item) -> dict[str, Any] | None:
    """Return what the summary shows of a benchmark. Returns None if gnnbench did not time it."""
    benchmark = item.funcargs.get("benchmark")  # type: ignore[attr-defined]
    measurement = part_of(benchmark.extra_info).measurement if benchmark else None
    if not measurement:
        return None
    seconds = times(measurement)
    time = f"{units.seconds(seconds[0]):>9} ±{half_width(*seconds).text:>5} "
    return {"time": time, "remarks": remarks(measurement)}


def summarize(reporter: Any, records: Mapping[str, dict[str, Any]]) -> None:
    """Write a line for each benchmark, and notes about them."""
    from ..measure import estimate

    headline = f"time of a call with its {estimate.SHOWN_LEVEL:.0%} interval"
    writing.say(reporter, "; ".join(filter(None, (headline, pace.disturbance()))))
    for name, entry in records.items():
        time = entry["time"]
        reporter.write_line(wrapped(f"{time}{name}", indent=" " * len(time)))
    rows = ((name, entry["remarks"]) for name, entry in records.items())
    for line in notes(rows, len(records), reporter.verbosity):
        writing.say(reporter, line)


def shorten_their_table(config: pytest.Config) -> None:
    """Leave gnnbench's benchmarks out of pytest-benchmark's table, unless an option needs that table."""
    # Only the command line counts, because a project's addopts may contain these options.
    has_option = any(str(word).startswith(_OF_THEIR_TABLE) for word in config.invocation_params.args)
    if not has_option and not config.getoption("benchmark_compare"):
        config.pluginmanager.register(_TheirTable(), "gnnbench-their-table")


class _TheirTable:
    """Leaves benchmarks out of pytest-benchmark's table, but not of histograms: their wrapper is inside."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_benchmark_group_stats(self) -> Generator[None, Any, Any]:
        """Keep only the benchmarks that gnnbench does not show."""
        groups = [
            (name, [row for row in entries if "measurement" not in json_io.own_part(row["extra_info"])])
            for name, entries in (yield)
        ]
        return [(name, entries) for name, entries in groups if entries]
