"""The kind `kernels`: GPU kernels, memory copies, and calls in which the host waits for the GPU."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..ground.devices import why_no_cuda
from ..ground.files import scratch
from .kinds import ROOT, Subject, UnavailableError
from .trace import PARTS, STEP, Event, annotated, record, span_ns


def take(subject: Subject, _folder: Path) -> dict[str, Any]:
    """Record the repeats after a first call and a warm-up call; see `summary`."""
    if subject.device != "cuda":
        reason = why_no_cuda() or "the benchmark runs on the CPU: choose device cuda"
        raise UnavailableError(f"profile kind 'kernels' needs CUDA: {reason}")
    cold_ns = subject.timed_ns()
    with scratch() as files:
        events = record(subject, files / "trace.json")
    return {**summary(events), "cold_ns": cold_ns, "repeats": subject.repeats}


def summary(events: Sequence[Event]) -> dict[str, Any]:
    """Summarise the GPU events within the steps of a trace; the longest total time first.

    Returns:
        `rows` of kernels; `copies`: memory copies and fills, with `bytes`; `synchronizations`: the host's
        CUDA calls within ROOT that wait for the GPU. Each row: `name`, `calls`, `total_ns`, `min_ns`,
        `max_ns`.
    """
    events = _within(annotated(events, STEP), events)
    calls = _within(annotated(events, ROOT), events)  # without the profiler's own wait at the end of a step
    runtime = (event for event in calls if event.get("cat") in PARTS["runtime"])
    return {
        "rows": _rows(event for event in events if event.get("cat") in PARTS["kernel"]),
        "copies": _rows(event for event in events if event.get("cat") in PARTS["memcpy"]),
        "synchronizations": _rows(event for event in runtime if "Synchronize" in event["name"]),
    }


def _within(ranges: Iterable[Event], events: Iterable[Event]) -> list[Event]:
    """Return the events that begin within the ranges."""
    spans = [span_ns(event) for event in ranges]
    return [event for event in events if any(start <= span_ns(event)[0] < end for start, end in spans)]


def _rows(events: Iterable[Event]) -> list[dict[str, Any]]:
    by_name: dict[str, list[Event]] = {}
    for event in events:
        by_name.setdefault(event["name"], []).append(event)
    rows = []
    for name, group in by_name.items():
        ns = [end - start for start, end in map(span_ns, group)]
        row = {"name": name, "calls": len(ns), "total_ns": sum(ns), "min_ns": min(ns), "max_ns": max(ns)}
        moved = [event["args"]["bytes"] for event in group if "bytes" in event["args"]]
        rows.append({**row, "bytes": sum(moved)} if moved else row)
    return sorted(rows, key=lambda row: -row["total_ns"])
