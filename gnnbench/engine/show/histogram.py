"""Pictures of the benchmarks of a pytest session: `--benchmark-histogram`."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..ground import units
from ..ground.labels import Labels
from ..measure import estimate
from ..store import suite
from ..store.benchmark import part_of
from .measured import times as times_of
from .names import clean, short_and_shared
from .pictures import Picture, Timed
from .pictures import times as chart

Entry = Mapping[str, Any]
"""A benchmark as pytest-benchmark's hook `pytest_benchmark_group_stats` gets it."""
_Seconds = tuple[float, float | None, float | None, float, float]
"""Times in the order of `Timed`."""

_LONGEST_TITLE = 120
_OURS = (
    f"Dot: the time in the table. Thick line: its {units.level(estimate.SHOWN_LEVEL)} interval. "
    "Thin line: the middle 80% of the measurements."
)
_NO_INTERVAL = "Hollow: too few measurements for an interval."
_THEIRS = (
    "Dot: median of the rounds. Thick line: the middle half of the rounds. Thin line: rounds within 1.5 "
    "interquartile ranges of it."
)


def pictures(
    groups: Sequence[tuple[str | None, Sequence[Entry]]], *, by_operation: bool
) -> Iterator[tuple[str, Picture]]:
    """Yield the picture of each group, with a name for its file.

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
        yield clean(name), _of_group(clean(title, _LONGEST_TITLE), entries)


def _of_group(title: str, entries: Sequence[Entry]) -> Picture:
    is_ours = all(map(_is_ours, entries))
    labels, shared = _named(entries)
    seconds = map(_block_medians if is_ours else _rounds, entries)
    timed = [Timed(label, *times) for label, times in zip(labels, seconds, strict=True)]
    timed.sort(key=lambda row: row.time)
    notes = [f"{shared}." if title and shared else "", _OURS if is_ours else _THEIRS]
    if any(row.low is None for row in timed):
        notes.append(_NO_INTERVAL)
    message = title or shared or "Times"
    text = f"Times of {units.count(len(timed), 'benchmark')}. {message}."
    return Picture(message, " ".join(filter(None, notes)), text, partial(chart, timed))


def _named(entries: Sequence[Entry]) -> tuple[list[str], str]:
    """Return what distinguishes the benchmarks, and what they have in common."""
    names, shared = short_and_shared({entry["fullname"]: _labels(entry) for entry in entries})
    sources = (str(entry["source"] or "").rsplit("/", 1)[-1][:12] for entry in entries)
    named = zip((names[entry["fullname"]] for entry in entries), sources, strict=True)
    return [f"{name} ({source})" if source else name for name, source in named], shared


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
