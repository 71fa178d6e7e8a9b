"""The kind `trace`: a torch.profiler trace for Perfetto and TensorBoard, and a breakdown of each step's time.

torch_geometric.profile's `torch_profile` and `trace_handler` are not used: they print, write to the working
directory and record no steps.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from .kinds import ROOT, Subject
from .targets import LAYERS

FILE = "gnnbench.pt.trace.json"
"""A name that TensorBoard's plugin takes."""

Event = Mapping[str, Any]
"""An event of a Chrome trace: `ph`, `cat`, `name`, `ts` and `dur` in microseconds, `args`."""

PARTS = {
    "kernel": ("kernel",),
    "memcpy": ("gpu_memcpy", "gpu_memset"),
    "runtime": ("cuda_runtime", "cuda_driver"),
    "cpu": ("cpu_op",),
}
"""Part of a step: the categories of its events.

At any moment, the first part with a running event counts, or `other` if there is none. This is the order of
TensorBoard's plugin for PyTorch profiles, which produced the seed notes' figures."""
STEP = "ProfilerStep#"
"""Prefix of a step's name in torch.profiler and TensorBoard's plugin."""


def take(subject: Subject, folder: Path) -> dict[str, Any]:
    """Record the repeats, with ranges of phases and layers, after a first call and a warm-up call.

    Returns:
        `steps`, one per repeat, see `breakdown`; `cold_ns`, the first call without a profile; `missing`, a
        line for each range that the library lacks.
    """
    from .ranges import Ranges

    cold_ns = subject.timed_ns()
    with Ranges(LAYERS, subject.device) as ranges:
        events = record(subject, folder / FILE)
    return {"steps": breakdown(events), "cold_ns": cold_ns, "missing": list(ranges.missing)}


def record(subject: Subject, file: Path) -> list[Event]:
    """Warm up, record the repeats in a Chrome trace, and return its events that have a duration.

    A step ends when the GPU has finished; in it, the range ROOT is around the call. The subject's set-up is
    outside the steps.
    """
    import torch
    from torch import profiler
    from torch.profiler import ProfilerAction, ProfilerActivity

    from ..measure.memory import quiet_profiler

    quiet_profiler()
    synchronize: Callable[[], object] = torch.cuda.synchronize if subject.device == "cuda" else tuple
    with profiler.profile(
        activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if subject.device == "cuda" else [])],
        schedule=lambda number: ProfilerAction.RECORD if number else ProfilerAction.WARMUP,
        on_trace_ready=lambda recorded: recorded.export_chrome_trace(str(file)),
    ) as steps:
        steps.record_steps = False  # its steps would include the set-up between calls
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
    """Return the begin and end of an event in nanoseconds."""
    start = round(event["ts"] * 1000)
    return start, start + round(event["dur"] * 1000)


def annotated(events: Sequence[Event], prefix: str) -> list[Event]:
    """Return the host's ranges whose name begins with a text, in order of time."""
    annotations = (event for event in events if event.get("cat") == "user_annotation")
    return sorted((event for event in annotations if event["name"].startswith(prefix)), key=span_ns)


def breakdown(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Divide the time of each step among the parts.

    Returns:
        For each step, in order of time: `name`, `total_ns`, and `kernel_ns`, `memcpy_ns`, `runtime_ns`,
        `cpu_ns` and `other_ns`, which sum to the total.
    """
    categories = accumulate(PARTS.values())
    spans = [sorted(span_ns(event) for event in events if event.get("cat") in some) for some in categories]
    steps = []
    for event in annotated(events, STEP):
        start, end = span_ns(event)
        covered = [0, *(_covered(part, start, end) for part in spans), end - start]
        parts = zip((*PARTS, "other"), pairwise(covered), strict=True)
        lengths = {f"{part}_ns": more - less for part, (less, more) in parts}
        steps.append({"name": event["name"], "total_ns": end - start, **lengths})
    return steps


def _covered(spans: Sequence[tuple[int, int]], start: int, end: int) -> int:
    """Return how much of the time from `start` to `end` at least one of the spans covers; they are sorted."""
    covered = 0
    for first, last in spans:
        begin, stop = max(first, start), min(last, end)
        if begin < stop:
            covered, start = covered + stop - begin, stop
    return covered
