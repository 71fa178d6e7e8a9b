"""What a session prints: times that are in no table, and pytest-benchmark's table without them."""

from collections.abc import Generator, Mapping
from typing import Any

import pytest

from ..ground import json_io, units
from ..show.lines import wrapped
from ..show.measured import half_width, notes, remarks, times
from ..store.benchmark import part_of
from . import pace, writing

PROGRESS = "gnnbench-progress"
"""Name of a suite's plugin that prints a line for each benchmark."""

_OF_THEIR_TABLE = tuple(
    f"--benchmark-{name}" for name in ("columns", "cprofile", "group-by", "name", "sort", "verbose")
)
"""Options of pytest-benchmark with which its table is shown."""


def record(item: pytest.Item) -> dict[str, Any] | None:
    """Return the results of a benchmark for the summary; None if gnnbench did not time it."""
    benchmark = item.funcargs.get("benchmark")  # type: ignore[attr-defined]
    measured = part_of(benchmark.extra_info).measurement if benchmark else None
    if not measured:
        return None
    seconds = times(measured)
    time = f"{units.seconds(seconds[0]):>9} ±{half_width(*seconds).text:>5} "
    return {"time": time, "remarks": remarks(measured)}


def summarize(reporter: Any, records: Mapping[str, dict[str, Any]]) -> None:
    """Write a line for each benchmark, and notes about them."""
    from ..measure import estimate

    headline = f"time of a call with its {estimate.SHOWN_LEVEL:.0%} interval"
    writing.say(reporter, "; ".join(filter(None, (headline, pace.disturbance()))))
    for name, entry in records.items():
        time = entry["time"]
        reporter.write_line(wrapped(f"{time}{name}", indent=" " * len(time)))
    found = ((name, entry["remarks"]) for name, entry in records.items())
    for line in notes(found, len(records), reporter.verbosity):
        writing.say(reporter, line)


def shorten_their_table(config: pytest.Config) -> None:
    """Leave the benchmarks of gnnbench's tables out of pytest-benchmark's, unless an option asks for it."""
    # A project's addopts may have them, so only the command line counts.
    asked = any(str(word).startswith(_OF_THEIR_TABLE) for word in config.invocation_params.args)
    if not asked and not config.getoption("benchmark_compare"):
        config.pluginmanager.register(_TheirTable(), "gnnbench-their-table")


class _TheirTable:
    """Leaves benchmarks out of pytest-benchmark's table, but not out of pictures: their wrapper is inside."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_benchmark_group_stats(self) -> Generator[None, Any, Any]:
        """Keep the benchmarks that gnnbench does not show."""
        groups = [
            (name, [one for one in entries if "measurement" not in json_io.own_part(one["extra_info"])])
            for name, entries in (yield)
        ]
        return [(name, entries) for name, entries in groups if entries]
