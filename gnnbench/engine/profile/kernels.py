"""The kind `kernels`: GPU kernels, memory copies, and calls in which the host waits for the GPU."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..ground import units
from ..ground.devices import why_no_cuda
from . import text
from .kinds import ROOT, Subject, UnavailableError
from .trace import PARTS, STEP, Event, annotated, record, span_ns

_COLUMNS = {"Time %": 6, "Time": 8, "Calls": 6, "Avg": 8, "Min": 8, "Max": 8}
_NAME = -30
_TITLES = {"rows": "Kernel", "copies": "Copy or fill", "synchronizations": "The host waits in"}


def take(subject: Subject, folder: Path) -> dict[str, Any]:  # noqa: ARG001
    """Record the repeats after a first call and a warm-up call; nothing is written.

    Returns:
        The fields of `summary` over all repeats; `cold_ns`, the first call without a profile; `repeats`.
    """
    if subject.device != "cuda":
        reason = why_no_cuda() or "the benchmark runs on the CPU: choose device cuda"
        raise UnavailableError(f"profile kind 'kernels' needs CUDA: {reason}")
    cold_ns = subject.timed_ns()
    with tempfile.TemporaryDirectory() as scratch:
        events = record(subject, Path(scratch, "trace.json"))
    return {**summary(events), "cold_ns": cold_ns, "repeats": subject.repeats}


def summary(events: Sequence[Event]) -> dict[str, Any]:
    """Summarise the GPU events of a trace, without those outside its steps; the longest total time first.

    Returns:
        `rows` of kernels; `copies`: memory copies and fills, with `bytes`; `synchronizations`: the host's
        CUDA calls within ROOT that wait for the GPU. Each row: `name`, `calls`, `total_ns`, `min_ns`,
        `max_ns`.
    """
    events = _within(annotated(events, STEP), events)
    calls = _within(annotated(events, ROOT), events)  # without the profiler's own wait at the end of a step
    moved = [event for event in events if event.get("cat") in PARTS["memcpy"]]
    copies = _rows(moved)
    for row in copies:
        row["bytes"] = sum(event["args"]["bytes"] for event in moved if event["name"] == row["name"])
    runtime = (event for event in calls if event.get("cat") in PARTS["runtime"])
    return {
        "rows": _rows(event for event in events if event.get("cat") in PARTS["kernel"]),
        "copies": copies,
        "synchronizations": _rows(event for event in runtime if "Synchronize" in event["name"]),
    }


def _within(ranges: Iterable[Event], events: Iterable[Event]) -> list[Event]:
    """Return the events that begin within the ranges."""
    spans = [span_ns(event) for event in ranges]
    return [event for event in events if any(start <= span_ns(event)[0] < end for start, end in spans)]


def _rows(events: Iterable[Event]) -> list[dict[str, Any]]:
    times: dict[str, list[int]] = {}
    for event in events:
        start, end = span_ns(event)
        times.setdefault(event["name"], []).append(end - start)
    rows = [
        {"name": name, "calls": len(ns), "total_ns": sum(ns), "min_ns": min(ns), "max_ns": max(ns)}
        for name, ns in times.items()
    ]
    return sorted(rows, key=lambda row: -row["total_ns"])


def table(section: Mapping[str, Any]) -> str:
    """Return tables of kernels, of copies and of synchronisations."""
    lines = []
    for kind, title in _TITLES.items():
        if rows := section[kind]:
            whole_ns = sum(row["total_ns"] for row in rows)
            cells = (_cells(row, whole_ns) for row in rows)
            lines += [*text.table({**_COLUMNS, f" {title}": _NAME}, cells), ""]
    note = f"Sums over {section['repeats']} profiled calls. {text.first_call(section)}"
    return text.page(lines, f"{note} Time % is of the table's total.")


def _cells(row: Mapping[str, Any], whole_ns: int) -> tuple[str, ...]:
    size = f"{units.size(row['bytes'])} " if "bytes" in row else ""
    times_ns = (row["total_ns"] / row["calls"], row["min_ns"], row["max_ns"])
    return (
        units.fraction(row["total_ns"] / whole_ns),
        text.nanoseconds(row["total_ns"]),
        f"{row['calls']}",
        *map(text.nanoseconds, times_ns),
        f" {size}{row['name'].removeprefix('void ')}",
    )
