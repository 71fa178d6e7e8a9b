"""The kinds of profile that torch.profiler records: `trace`, for Perfetto and TensorBoard, and `kernels`."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..ground.devices import why_no_cuda
from ..ground.errors import UsageError
from ..ground.files import scratch
from .kinds import ROOT, Subject
from .targets import LAYERS

FILE = "gnnbench.pt.trace.json"
"""A name that TensorBoard's plugin accepts."""

Event = Mapping[str, Any]
"""An event of a Chrome trace: `ph`, `cat`, `name`, `ts` and `dur` in microseconds, `args`."""

STEP = "ProfilerStep#"
"""Prefix of a step's name in torch.profiler and TensorBoard's plugin."""


def trace(subject: Subject, folder: Path) -> dict[str, Any]:
    """Record the repeats as a trace with ranges of phases and layers, after a first call and a warm-up."""
    from .ranges import Ranges

    cold_ns = subject.time_ns()
    with Ranges(LAYERS, subject.device):
        record(subject, folder / FILE)
    return {"cold_ns": cold_ns}


def kernels(subject: Subject, _folder: Path) -> dict[str, Any]:
    """Record the repeats after a first call and a warm-up, and return their `summary`."""
    if subject.device != "cuda":
        reason = why_no_cuda() or "the benchmark runs on the CPU: give --device cuda"
        raise UsageError(f"profile kind 'kernels' needs CUDA: {reason}")
    cold_ns = subject.time_ns()
    with scratch() as files:
        events = record(subject, files / "trace.json")
    return {**summary(events), "cold_ns": cold_ns, "repeats": subject.repeats}


def summary(events: Sequence[Event]) -> dict[str, Any]:
    """Sum up the kernels, copies and fills in the steps of a trace, and the calls that wait for the GPU."""
    events = _within(annotations(events, STEP), events)
    calls = _within(annotations(events, ROOT), events)  # without the profiler's own wait at the end of a step
    runtime = (event for event in calls if event.get("cat") in ("cuda_runtime", "cuda_driver"))
    return {
        "rows": _rows(event for event in events if event.get("cat") == "kernel"),
        "copies": _rows(event for event in events if event.get("cat") in ("gpu_memcpy", "gpu_memset")),
        "synchronizations": _rows(event for event in runtime if "Synchronize" in event["name"]),
    }


def record(subject: Subject, file: Path) -> list[Event]:
    """Record a warm-up and the repeats in a Chrome trace; return its events that have a duration."""
    import torch
    from torch import profiler
    from torch.profiler import ProfilerAction, ProfilerActivity

    from ..measure.memory import quiet_profiler

    quiet_profiler()
    synchronize: Callable[[], object] = torch.cuda.synchronize if subject.device == "cuda" else lambda: None
    with profiler.profile(
        activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if subject.device == "cuda" else [])],
        schedule=lambda number: ProfilerAction.RECORD if number else ProfilerAction.WARMUP,
        on_trace_ready=lambda recorded: recorded.export_chrome_trace(str(file)),
    ) as steps:
        steps.record_steps = False  # the profiler's own steps would include the set-up between calls
        for number in range(1 + subject.repeats):
            with subject.ready() as call:
                synchronize()
                with profiler.record_function(f"{STEP}{number}"):
                    with profiler.record_function(ROOT):
                        call()
                    synchronize()
            if not number:
                steps.step()
    content = json.loads(file.read_text(encoding="utf-8"))
    return [event for event in content["traceEvents"] if event["ph"] == "X"]


def span_ns(event: Event) -> tuple[int, int]:
    start = round(event["ts"] * 1000)
    return start, start + round(event["dur"] * 1000)


def annotations(events: Sequence[Event], prefix: str) -> list[Event]:
    """Return the host's ranges whose names begin with `prefix`, in order of time."""
    ranges = (event for event in events if event.get("cat") == "user_annotation")
    return sorted((event for event in ranges if event["name"].startswith(prefix)), key=span_ns)


def _within(ranges: Iterable[Event], events: Iterable[Event]) -> list[Event]:
    """Return the events that begin within one of the ranges."""
    spans = [span_ns(event) for event in ranges]
    return [event for event in events if any(start <= span_ns(event)[0] < end for start, end in spans)]


def _rows(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Sum up events by name, the longest total time first."""
    by_name: dict[str, list[Event]] = {}
    for event in events:
        by_name.setdefault(event["name"], []).append(event)
    rows = []
    for name, group in by_name.items():
        ns = [end - start for start, end in map(span_ns, group)]
        row = {"name": name, "calls": len(ns), "total_ns": sum(ns), "min_ns": min(ns), "max_ns": max(ns)}
        sizes = [event["args"]["bytes"] for event in group if "bytes" in event.get("args", ())]
        rows.append({**row, "bytes": sum(sizes)} if sizes else row)
    return sorted(rows, key=lambda row: -row["total_ns"])
