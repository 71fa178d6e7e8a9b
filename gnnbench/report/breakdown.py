"""Make breakdowns of the time of profiled calls, with platforms side by side."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ..profile.record import ProfileRecord
from .names import SHORT_DIRECTION, inputs

_KINDS = ("phases", "layers")
"""Sections of a profile that are trees of ranges."""


@dataclass(frozen=True)
class BreakdownPart:
    """A range of a profiled call."""

    name: str
    seconds: float
    """Mean over the middle half of the repeats, by the time of the whole call."""
    self_seconds: float
    """Without nested ranges."""
    depth: int
    """Level of nesting, from 1."""


@dataclass(frozen=True)
class Bar:
    """A profiled call."""

    label: str
    """Platform, or "call"."""
    seconds: float
    """Sum of the ranges' times without nested ranges, and of the rest."""
    parts: tuple[BreakdownPart, ...]
    """Its ranges, depth first."""
    rest_seconds: float
    """Time outside of all ranges."""


@dataclass(frozen=True)
class Breakdown:
    """The time of calls by range, with platforms side by side."""

    title: str
    kind: str
    """`phases` or `layers`."""
    bars: tuple[Bar, ...]

    @property
    def work(self) -> str:
        """Return what was profiled, without widths and types: `epoch train on cora`."""
        return self.title.partition(" · ")[0]


def of(records: Sequence[ProfileRecord]) -> tuple[Breakdown, ...]:
    """Return a breakdown for each kind and each work; platforms of the same work are in one."""
    groups: dict[tuple[str, str], list[ProfileRecord]] = {}
    for kind in _KINDS:
        for record in records:
            if kind in record.sections:
                groups.setdefault((kind, _work(record)), []).append(record)
    return tuple(
        Breakdown(title, kind, tuple(_bar(record, kind) for record in group))
        for (kind, title), group in groups.items()
    )


def _work(record: ProfileRecord) -> str:
    spec = record.spec
    if not spec:
        return record.id
    direction = SHORT_DIRECTION.get(spec.direction, spec.direction)
    return " · ".join((f"{spec.operation} {direction} on {spec.dataset}", *inputs(spec)[1:]))


def _bar(record: ProfileRecord, kind: str) -> Bar:
    root, *rows = record.section(kind)["rows"]
    kept = _middle(root["total_ns"])

    def mean(values_ns: Sequence[float]) -> float:
        return statistics.fmean(values_ns[call] for call in kept) / 1e9

    parts = tuple(
        BreakdownPart(row["path"][-1], seconds, mean(row["self_ns"]), len(row["path"]) - 1)
        for row in rows
        if (seconds := mean(row["total_ns"]))
    )
    label = record.spec.platform if record.spec else "call"
    return Bar(label, mean(root["total_ns"]), parts, mean(root["self_ns"]))


def _middle(totals_ns: Sequence[float]) -> list[int]:
    """Return the numbers of the calls without the fastest and the slowest quarter.

    The ranges' means over the same calls add up to the mean of the whole; medians would not.
    """
    calls = sorted(range(len(totals_ns)), key=totals_ns.__getitem__)
    cut = len(calls) // 4
    return calls[cut : len(calls) - cut]
