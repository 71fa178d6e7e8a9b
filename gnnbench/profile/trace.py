"""The kind `trace`: what torch.profiler records, for Perfetto and TensorBoard; where a step's time goes.

torch_geometric.profile has `torch_profile` and `trace_handler`: they print, write to the working directory
and record no steps. torch's own handler for TensorBoard does what is needed.
"""

import json
import shutil
import textwrap
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import units
from ..measure.garbage import collector_paused
from ..measure.memory import quiet_profiler
from .ranges import Ranges, clock_of
from .subject import Subject
from .targets import LAYERS, PHASES
from .tree import ROOT, WIDTH

FILE = "trace.json"
TENSORBOARD = "tensorboard"

Event = Mapping[str, Any]
"""Of a Chrome trace: `ph`, `cat`, `name`, `ts` and `dur` in microseconds, `args`."""

PARTS = {
    "kernel": ("kernel",),
    "memcpy": ("gpu_memcpy", "gpu_memset"),
    "runtime": ("cuda_runtime", "cuda_driver"),
    "cpu": ("cpu_op",),
}
"""Part of a step, and the categories of its events. A moment belongs to the first part that has an event
then, and to `other` if none has: the order of TensorBoard's plugin for PyTorch's profiles, which the seed
notes' figures come from."""

_WORDS = {
    "kernel": "kernel: the GPU computes",
    "memcpy": "memcpy: the GPU copies or fills memory",
    "runtime": "runtime: the GPU idle, the host in CUDA calls",
    "cpu": "CPU: the host in PyTorch's operators",
    "other": "other: Python, and libraries unknown to PyTorch",
}
_STEP = "ProfilerStep#"
"""How torch.profiler, and TensorBoard's plugin, call a step."""
_EVENT = 48


def take(subject: Subject, folder: Path) -> dict[str, Any]:
    """Record the repeats with the ranges of phases and layers in them, after a first and a warm-up call.

    Returns:
        `steps`, one of each repeat, see `breakdown`; `cold_ns`, the first call without a profile;
        `missing`, a line for each range that is not there.
    """
    ranges = Ranges((*PHASES, *LAYERS), subject.device, functions=True)

    def call() -> None:
        with ranges.range(ROOT):
            subject.call()

    cold_ns = cold_call_ns(subject)
    with ranges:
        saved = record(subject, call, folder / TENSORBOARD)
    shutil.copyfile(saved, folder / FILE)
    return {"steps": breakdown(events(saved)), "cold_ns": cold_ns, "missing": list(ranges.missing)}


def cold_call_ns(subject: Subject) -> int:
    """Call and return the time it took, a GPU's work included."""
    clock = clock_of(subject.device)
    with subject.ready(), collector_paused():
        start = clock()
        subject.call()
        return clock() - start


def record(subject: Subject, call: Callable[[], object], folder: Path) -> Path:
    """Warm up, record the repeats as torch.profiler's steps, and return the file, as TensorBoard names it.

    A step ends when the GPU has done its work. What makes the subject ready is in no step.

    Args:
        subject: where it works and how often.
        call: what is called.
        folder: which is made.
    """
    import torch
    from torch.profiler import (
        ProfilerAction,
        ProfilerActivity,
        profile,
        record_function,
        tensorboard_trace_handler,
    )

    quiet_profiler()
    on_gpu = subject.device == "cuda"
    wait: Callable[[], object] = torch.cuda.synchronize if on_gpu else lambda: None
    with (
        collector_paused(),
        profile(
            activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])],
            schedule=lambda number: ProfilerAction.RECORD if number else ProfilerAction.WARMUP,
            on_trace_ready=tensorboard_trace_handler(str(folder), worker_name="gnnbench"),
        ) as steps,
    ):
        steps.record_steps = False  # one would begin where another ends
        for number in range(1 + subject.repeats):
            with subject.ready():
                wait()
                with record_function(f"{_STEP}{number}"):
                    call()
                    wait()
            if not number:
                steps.step()
    (saved,) = folder.iterdir()
    return saved


def events(path: Path) -> list[Event]:
    """Read those events of a Chrome trace that take time."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return [event for event in content["traceEvents"] if event["ph"] == "X"]


def span_ns(event: Event) -> tuple[int, int]:
    """Return when an event began and ended."""
    start = round(event["ts"] * 1000)
    return start, start + round(event["dur"] * 1000)


def steps_of(found: Sequence[Event]) -> list[Event]:
    """Return the steps of the host among events, in the order of time."""
    annotations = (event for event in found if event.get("cat") == "user_annotation")
    return sorted((event for event in annotations if event["name"].startswith(_STEP)), key=span_ns)


def breakdown(found: Sequence[Event]) -> list[dict[str, Any]]:
    """Say where the time of each step went.

    Returns:
        Of each `ProfilerStep#N` of the host, in the order of time: its `name`, `total_ns`, and what parts
        of that are `kernel_ns`, `memcpy_ns`, `runtime_ns`, `cpu_ns` and `other_ns`, see PARTS. These sum to
        the total.
    """
    categories: list[str] = []
    covered = {}
    for part, more in PARTS.items():
        categories += more
        covered[part] = _Union(span_ns(event) for event in found if event.get("cat") in categories)
    steps = []
    for event in steps_of(found):
        start, end = span_ns(event)
        parts, before = {}, 0
        for part, union in covered.items():
            length = union.within(start, end)
            parts[f"{part}_ns"], before = length - before, length
        parts["other_ns"] = end - start - before
        steps.append({"name": event["name"], "total_ns": end - start, **parts})
    return steps


class _Union:
    """The time that some spans cover together."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(spans):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def within(self, start: int, end: int) -> int:
        """Return how much of it lies between two moments."""
        pieces = slice(bisect_right(self._ends, start), bisect_right(self._starts, end))
        bounds = zip(self._starts[pieces], self._ends[pieces], strict=True)
        return sum(min(last, end) - max(first, start) for first, last in bounds)


def table(section: Mapping[str, Any]) -> str:
    """Lay out where the steps' time went, and say how to look at the trace."""
    steps = section["steps"]
    whole_ns = sum(step["total_ns"] for step in steps)
    lines = [_line("Event", "Count", "Average time", "Frac.")]
    for part, words in {**_WORDS, "total": "the whole step"}.items():
        part_ns = sum(step[f"{part}_ns"] for step in steps)
        if part_ns:
            average = units.seconds(part_ns / len(steps) / 1e9)
            lines.append(_line(words, f"{len(steps)}", average, units.fraction(part_ns / whole_ns)))
    note = (
        f"The parts are disjoint. The first call, {units.seconds(section['cold_ns'] / 1e9)} without a "
        f"profile, is no step. {FILE} opens at https://ui.perfetto.dev, and {TENSORBOARD}/ in `tensorboard "
        "--logdir` with the plugin torch-tb-profiler."
    )
    return "\n".join([*lines, *(textwrap.fill(each, WIDTH) for each in (note, *section["missing"]))])


def _line(event: str, count: str, average: str, share: str) -> str:
    return f"{event:<{_EVENT}} {count:>6} {average:>14} {share:>7}"
