"""Draws the charts of `--benchmark-histogram`: the times of a pytest session."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ..ground import units
from ..ground.labels import Labels
from ..measure import estimate
from ..store import suite
from ..store.run_file import part_of
from .measured import times
from .names import clean, short_and_shared
from .pictures import Picture, Time, chart_of_times

Entry = Mapping[str, Any]
"""A benchmark as pytest-benchmark passes it to the hook `pytest_benchmark_group_stats`."""

_MOST_ROWS = 9
"""Maximum number of rows in a chart. The rows of a larger group are divided among several charts."""
_OF_BLOCKS = (
    f"Dot: the time in the table. Thick line: its {units.level(estimate.SHOWN_LEVEL)} interval. "
    "Thin line: the middle 80% of the measurements."
)
_NO_INTERVAL = "Hollow: too few measurements for an interval."
_OF_ROUNDS = (
    "Dot: median of the rounds. Thick line: the middle half of the rounds. Thin line: rounds within 1.5 "
    "interquartile ranges of it."
)


def pictures(
    groups: Sequence[tuple[str | None, Sequence[Entry]]], *, by_operation: bool
) -> Iterator[tuple[str, Picture]]:
    """Yield charts, each with a name for its file; all charts of a large group have the same name.

    `groups`: pytest-benchmark's groups of benchmarks, by name. `by_operation`: whether benchmarks with labels
    are grouped by operation and graph instead.
    """
    grouped: dict[tuple[str, str], list[Entry]] = {}
    for group, entries in groups:
        for entry in entries:
            name = title = group or ""
            if by_operation and (labels := _labels(entry)):
                graph = next(iter(labels.inputs.values()), "")
                name, title = f"{labels.operation} {graph}", f"{labels.operation} on {graph}"
            grouped.setdefault((name, title), []).append(entry)
    for (name, title), entries in grouped.items():
        for picture in _charts(clean(title, 120), entries):
            yield clean(name), picture


def _charts(title: str, entries: Sequence[Entry]) -> Iterator[Picture]:
    """Yield the charts of a group, whose benchmarks are sorted by time."""
    # Saved runs show pytest-benchmark's times.
    has_blocks = all(row["path"] is None and part_of(row["extra_info"]).measurement for row in entries)
    names, shared = _names_and_shared(entries)
    values = map(_block_medians if has_blocks else _rounds, entries)
    benchmarks = sorted(zip(values, names, strict=True), key=lambda pair: pair[0].time)
    parts = math.ceil(len(benchmarks) / _MOST_ROWS)
    bounds = [len(benchmarks) * part // parts for part in range(parts + 1)]
    notes = [f"{shared}." if title and shared else "", _OF_BLOCKS if has_blocks else _OF_ROUNDS]
    if any(value.low is None for value, _ in benchmarks):
        notes.append(_NO_INTERVAL)
    for part, (start, end) in enumerate(pairwise(bounds), 1):
        unit_seconds, unit = units.scale(benchmarks[end - 1][0].time)
        rows = [value.row(name, unit_seconds) for value, name in benchmarks[start:end]]
        message = f"{title or shared or 'Times'}{f', part {part} of {parts}' if parts > 1 else ''}"
        text = f"Times of {units.count(len(rows), 'benchmark')}. {message}."
        yield Picture(message, " ".join(filter(None, notes)), text, partial(chart_of_times, rows, unit))


def _names_and_shared(entries: Sequence[Entry]) -> tuple[list[str], str]:
    """Return a short name for each benchmark, with the saved run it is from, and what all names share."""
    names, shared = short_and_shared({entry["fullname"]: _labels(entry) for entry in entries})
    sources = (str(entry["source"] or "").rsplit("/", 1)[-1][:12] for entry in entries)
    pairs = zip((names[entry["fullname"]] for entry in entries), sources, strict=True)
    return [f"{name} ({source})" if source else name for name, source in pairs], shared


def _labels(entry: Entry) -> Labels | None:
    fields = part_of(entry["extra_info"]).spec
    return suite.installed().labels(fields) if fields else None


def _block_medians(entry: Entry) -> Time:
    """Return gnnbench's time with its interval, and the middle 80% of the block medians."""
    measured = part_of(entry["extra_info"]).measurement
    assert measured
    least, most = np.quantile(estimate.block_values(measured.processes[0].times_ns), (0.1, 0.9)) / 1e9
    return Time(*times(measured), float(least), float(most))


def _rounds(entry: Entry) -> Time:
    """Return pytest-benchmark's median with the quartiles, and the ends of a box plot's whiskers."""
    return Time(*(entry[name] for name in ("median", "q1", "q3", "ld15iqr", "hd15iqr")))
