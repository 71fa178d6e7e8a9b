"""The kind `kernels`: GPU kernels, memory copies, and calls in which the host waits for the GPU."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..ground import units
from ..ground.devices import why_no_cuda
from . import text
from .kinds import ROOT, Subject, UnavailableError, timed_ns
from .trace import PARTS, Event, events, record, span_ns, steps_of

_COLUMNS = {"Time %": 6, "Time": 8, "Calls": 6, "Avg": 8, "Min": 8, "Max": 8}
_NAME = -30


def take(subject: Subject, folder: Path) -> dict[str, Any]:  # noqa: ARG001
    """Record the repeats after a first call and a warm-up call; nothing is written.

    Returns:
        The fields of `summary` over all repeats; `cold_ns`, the first call without a profile; `repeats`.
    """
    if subject.device != "cuda":
        reason = why_no_cuda() or "the benchmark runs on the CPU: choose device cuda"
        raise UnavailableError(f"profile kind 'kernels' needs CUDA: {reason}")
    from torch.profiler import record_function

    cold_ns = timed_ns(subject)
    with tempfile.TemporaryDirectory() as scratch:
        found = events(record(subject, partial(record_function, ROOT), Path(scratch, "trace")))
    return {**summary(found), "cold_ns": cold_ns, "repeats": subject.repeats}


def summary(found: Sequence[Event]) -> dict[str, Any]:
    """Summarise the GPU events of a trace; the longest total time first.

    Args:
        found: events of a Chrome trace, with the range ROOT around each call. Events outside its steps are
            ignored.

    Returns:
        `rows` of kernels; `copies`: memory copies and fills, with `bytes`; `synchronizations`: the host's
        CUDA calls within ROOT that wait for the GPU. Each row: `name`, `calls`, `total_ns`, `min_ns`,
        `max_ns`.
    """
    steps = [span_ns(step) for step in steps_of(found)]
    found = [event for event in found if _within(event, steps)]
    annotations = [event for event in found if event.get("cat") == "user_annotation"]
    calls = [span_ns(event) for event in annotations if event["name"] == ROOT]

    def waits(event: Event) -> bool:
        if event.get("cat") not in PARTS["runtime"] or "Synchronize" not in event["name"]:
            return False
        return _within(event, calls)  # excludes the profiler's own wait at the end of a step

    moved = [event for event in found if event.get("cat") in PARTS["memcpy"]]
    copies = _rows(moved)
    for row in copies:
        row["bytes"] = sum(event["args"]["bytes"] for event in moved if event["name"] == row["name"])
    return {
        "rows": _rows(event for event in found if event.get("cat") in PARTS["kernel"]),
        "copies": copies,
        "synchronizations": _rows(filter(waits, found)),
    }


def _within(event: Event, spans: Sequence[tuple[int, int]]) -> bool:
    moment, _ = span_ns(event)
    return any(start <= moment < end for start, end in spans)


def _rows(found: Iterable[Event]) -> list[dict[str, Any]]:
    times: dict[str, list[int]] = {}
    for event in found:
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
    for kind, title in (
        ("rows", "Kernel"),
        ("copies", "Copy or fill"),
        ("synchronizations", "The host waits in"),
    ):
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
