"""Pictures of the benchmarks of a pytest session: `--benchmark-histogram`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ..ground import units
from ..ground.labels import Labels
from ..measure import estimate
from ..store import suite
from ..store.benchmark import part_of
from .charts import times as charts
from .charts.common import distinct
from .measured import times as times_of
from .names import clean, in_lines, titles
from .pictures import Picture
from .style import SLIDE

Entry = Mapping[str, Any]
"""A benchmark as pytest-benchmark's hook `pytest_benchmark_group_stats` gets it."""

_LONGEST_TITLE = 120
_EMPTY = '""'
"""Label of a parameter whose id is empty."""
_LETTERS = 26
"""Letters per line of a label."""
_OURS = (
    f"Dot: the time in the table. Thick line: its {units.level(estimate.SHOWN_LEVEL)} interval. "
    "Thin line: the middle 80% of the measurements."
)
_NO_INTERVAL = "Without a thick line: too few measurements for an interval."
_THEIRS = (
    "Dot: median of the rounds. Thick line: the middle half of the rounds. Thin line: rounds within 1.5 "
    "interquartile ranges of it."
)


@dataclass(frozen=True)
class _Timed:
    """A benchmark's times, in seconds."""

    time: float
    low: float | None
    """Lower end of the thick line; None: there is none. `high` is the upper one."""
    high: float | None
    least: float
    """Lower end of the thin line; `most` is the upper one."""
    most: float

    def row(self, label: str, divisor: float) -> dict[str, Any]:
        """Return the row of the chart."""
        times = {name: value and value / divisor for name, value in vars(self).items()}
        return {"label": label, **times, "text": units.seconds(self.time)}


def pictures(
    groups: Sequence[tuple[str | None, Sequence[Entry]]], *, by_operation: bool
) -> Iterator[tuple[str, Picture]]:
    """Yield the pictures, each with a name for its file; those of a large group have the same name.

    Groups of one benchmark share a picture; if there is one such group among others, it has none.

    `by_operation`: whether gnnbench's own benchmarks are grouped by operation and graph instead.
    """
    found: dict[tuple[str, str], list[Entry]] = {}
    for group, entries in groups:
        for entry in entries:
            name = title = group or ""
            if by_operation and (labels := _labels(entry)):
                graph = next(iter(labels.inputs.values()), "")
                name, title = f"{labels.operation} {graph}", f"{labels.operation} on {graph}"
            found.setdefault((name, title), []).append(entry)
    alone = [key for key, entries in found.items() if len(entries) == 1 < len(found)]
    others = [found.pop(key)[0] for key in alone]
    if len(others) > 1:
        found["others", "Other benchmarks"] = others
    for (name, title), entries in found.items():
        for picture in _of_group(clean(title, _LONGEST_TITLE), entries):
            yield clean(name), picture


def _of_group(title: str, entries: Sequence[Entry]) -> Iterator[Picture]:
    labels, shared = _named(entries)
    is_ours = all(map(_is_ours, entries))
    times = [(_block_medians if is_ours else _rounds)(entry) for entry in entries]
    order = _order(entries, times)
    names = distinct("\n".join(in_lines(labels[place], _LETTERS)) for place in order)
    rows = [(label, times[place]) for place, label in zip(order, names, strict=True)]
    lines = max(label.count("\n") + 1 for label in names)
    parts = -(-len(rows) * lines // SLIDE.most_rows)
    ends = [len(rows) * part // parts for part in range(parts + 1)]
    notes = [f"{shared}." if title and shared else "", _OURS if is_ours else _THEIRS]
    if any(one.low is None for one in times):
        notes.append(_NO_INTERVAL)
    finding = _findings(entries, times) if is_ours else ""
    for part, (start, end) in enumerate(pairwise(ends), 1):
        divisor, unit = units.scale(max(one.time for _, one in rows[start:end]))
        shown = [one.row(label, divisor) for label, one in rows[start:end]]
        more = f", part {part} of {parts}" if parts > 1 else f"{finding and ': '}{finding}"
        message = f"{title or shared or 'Times'}{more}"
        text = f"Times of {units.count(len(shown), 'benchmark')}. {message}."
        draw = partial(charts.spread, shown, unit, lines)
        yield Picture("times", message, " ".join(filter(None, notes)), text, draw)


def _findings(entries: Sequence[Entry], times: Sequence[_Timed]) -> str:
    """Say which platform is the fastest in each direction, where its interval is apart from all others.

    Empty: there is none, or the benchmarks differ in more than platform and direction.
    """
    labelled = [labels for entry in entries if (labels := _labels(entry))]
    work = {(labels.operation, labels.heading) for labels in labelled}
    if len(labelled) < len(entries) or len(work) > 1:
        return ""
    ranked: dict[str, list[tuple[_Timed, str]]] = {}
    for place in _order(entries, times):
        labels = labelled[place]
        ranked.setdefault(labels.direction, []).append((times[place], labels.platform))
    texts = []
    for direction, ((first, winner), *others) in ranked.items():
        high = first.high
        if others and high is not None and all(one.low is not None and high < one.low for one, _ in others):
            second, other = others[0]
            where = f" ({direction})" if len(ranked) > 1 else ""
            ratio = units.ratio(second.time / first.time, digits=1)
            texts.append(f"{winner} {ratio} faster than {other}{where}")
    return ", ".join(texts)


def _named(entries: Sequence[Entry]) -> tuple[list[str], str]:
    """Return what distinguishes the benchmarks, and what they have in common."""
    labelled = [known for entry in entries if (known := _labels(entry))]
    found, shared = titles({entry["fullname"]: _labels(entry) for entry in entries})
    titled = [found[entry["fullname"]] for entry in entries]
    labels = [" ".join(filter(None, one)) for one in titled]
    functions = {label.partition("[")[0] if label.endswith("]") else None for label in labels}
    if len(labelled) == len(entries) and len({known.operation for known in labelled}) == 1:
        labels = [label.removeprefix(f"{labelled[0].operation} ") for label in labels]
        if len({known.direction for known in labelled}) == 1:
            labels = [context or title for title, context in titled]
            direction = labelled[0].fields.get("direction", "").replace("_", " and ")
            shared = f"{direction} · {shared}"
    elif len(functions) == 1 and (function := functions.pop()):
        labels = [label[len(function) + 1 : -1] or _EMPTY for label in labels]
        shared = "::".join(filter(None, (shared, function)))
    sources = [str(entry["source"] or "").rsplit("/", 1)[-1][:12] for entry in entries]
    return [
        f"{label} ({source})" if source else label for label, source in zip(labels, sources, strict=True)
    ], shared


def _order(entries: Sequence[Entry], times: Sequence[_Timed]) -> list[int]:
    """Return the places of the entries by direction and time; those of one benchmark stay together."""
    fastest: dict[str, float] = {}
    for entry, one in zip(entries, times, strict=True):
        fastest[entry["fullname"]] = min(one.time, fastest.get(entry["fullname"], one.time))

    def key(place: int) -> tuple[int, float, str, float]:
        name, labels = entries[place]["fullname"], _labels(entries[place])
        return labels.rank if labels else 0, fastest[name], name, times[place].time

    return sorted(range(len(entries)), key=key)


def _labels(entry: Entry) -> Labels | None:
    fields = part_of(entry).spec
    return suite.installed().labels(fields) if fields else None


def _is_ours(entry: Entry) -> bool:
    """Return whether gnnbench timed it in this session; a saved run's row has pytest-benchmark's times."""
    return entry["path"] is None and part_of(entry).measurement is not None


def _block_medians(entry: Entry) -> _Timed:
    found = part_of(entry).measurement
    assert found
    least, most = np.quantile(estimate.block_values(found.blocks_ns), (0.1, 0.9)) / 1e9
    return _Timed(*times_of(found), float(least), float(most))


def _rounds(entry: Entry) -> _Timed:
    return _Timed(*(entry[name] for name in ("median", "q1", "q3", "ld15iqr", "hd15iqr")))
