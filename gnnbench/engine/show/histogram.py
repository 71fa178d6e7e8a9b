"""Pictures of the benchmarks of a pytest session: `--benchmark-histogram`."""

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
from .measured import times as times_of
from .names import clean, short_and_shared
from .pictures import Picture
from .pictures import times as chart

Entry = Mapping[str, Any]
"""A benchmark as pytest-benchmark passes it to the hook `pytest_benchmark_group_stats`."""
_Seconds = tuple[float, float | None, float | None, float, float]
"""Times in the order of `_TIMES`."""

_LONGEST_TITLE = 120
_MOST_ROWS = 9
"""Most rows of a legible picture."""
_OF_BLOCKS = (
    f"Dot: the time in the table. Thick line: its {units.level(estimate.SHOWN_LEVEL)} interval. "
    "Thin line: the middle 80% of the measurements."
)
_NO_INTERVAL = "Hollow: too few measurements for an interval."
_OF_ROUNDS = (
    "Dot: median of the rounds. Thick line: the middle half of the rounds. Thin line: rounds within 1.5 "
    "interquartile ranges of it."
)


_TIMES = "time", "low", "high", "least", "most"
"""Fields of a row: the dot, the ends of the thick line (None without one) and of the thin line."""


def pictures(
    groups: Sequence[tuple[str | None, Sequence[Entry]]], *, by_operation: bool
) -> Iterator[tuple[str, Picture]]:
    """Yield each picture with a name for its file; all pictures of a large group have the same name.

    `by_operation`: whether gnnbench's own benchmarks are grouped by operation and graph instead.
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
        for picture in _of_group(clean(title, _LONGEST_TITLE), entries):
            yield clean(name), picture


def _of_group(title: str, entries: Sequence[Entry]) -> Iterator[Picture]:
    is_ours = all(map(_is_ours, entries))
    labels, shared = _named(entries)
    seconds = map(_block_medians if is_ours else _rounds, entries)
    timed = sorted(zip(labels, seconds, strict=True), key=lambda row: row[1][0])
    parts = -(-len(timed) // _MOST_ROWS)
    ends = [len(timed) * part // parts for part in range(parts + 1)]
    notes = [f"{shared}." if title and shared else "", _OF_BLOCKS if is_ours else _OF_ROUNDS]
    if any(low is None for _, (_, low, *_) in timed):
        notes.append(_NO_INTERVAL)
    for part, (start, end) in enumerate(pairwise(ends), 1):
        divisor, unit = units.scale(timed[end - 1][1][0])
        rows = [_row(label, times, divisor) for label, times in timed[start:end]]
        message = f"{title or shared or 'Times'}{f', part {part} of {parts}' if parts > 1 else ''}"
        text = f"Times of {units.count(len(rows), 'benchmark')}. {message}."
        yield Picture(message, " ".join(filter(None, notes)), text, partial(chart, rows, unit))


def _row(label: str, times: _Seconds, divisor: float) -> dict[str, Any]:
    scaled = (time and time / divisor for time in times)
    return {
        "label": label,
        "text": units.seconds(times[0]),
        "sure": float(times[1] is not None),
        **dict(zip(_TIMES, scaled, strict=True)),
    }


def _named(entries: Sequence[Entry]) -> tuple[list[str], str]:
    """Return what distinguishes the benchmarks, and what they have in common."""
    names, shared = short_and_shared({entry["fullname"]: _labels(entry) for entry in entries})
    sources = (str(entry["source"] or "").rsplit("/", 1)[-1][:12] for entry in entries)
    pairs = zip((names[entry["fullname"]] for entry in entries), sources, strict=True)
    return [f"{name} ({source})" if source else name for name, source in pairs], shared


def _labels(entry: Entry) -> Labels | None:
    fields = part_of(entry["extra_info"]).spec
    return suite.installed().labels(fields) if fields else None


def _is_ours(entry: Entry) -> bool:
    """Return whether gnnbench timed it in this session; a saved run's row has pytest-benchmark's times."""
    return entry["path"] is None and part_of(entry["extra_info"]).measurement is not None


def _block_medians(entry: Entry) -> _Seconds:
    measured = part_of(entry["extra_info"]).measurement
    assert measured
    least, most = np.quantile(estimate.block_values(measured.processes[0].times_ns), (0.1, 0.9)) / 1e9
    return *times_of(measured), float(least), float(most)


def _rounds(entry: Entry) -> _Seconds:
    return entry["median"], entry["q1"], entry["q3"], entry["ld15iqr"], entry["hd15iqr"]
