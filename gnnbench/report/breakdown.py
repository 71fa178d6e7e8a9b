"""Make breakdowns of the time of profiled calls, with platforms side by side."""

import statistics
from collections.abc import Sequence

from ..profile.record import ProfileRecord
from .names import SHORT_DIRECTION, inputs
from .view import Bar, Breakdown, BreakdownPart

_KINDS = ("phases", "layers")
"""Sections of a profile that are trees of ranges."""


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
