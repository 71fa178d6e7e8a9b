"""The kind `operators`: torch.profiler's table, with shapes, memory and FLOPs.

Its counts differ from the dispatcher's in `measure/counters.py`. They include operators that call others,
such as `aten::linear` and its `aten::t` besides the `aten::addmm` that is dispatched below autograd, and
exclude what other libraries do themselves. Times include the profiler's overhead, a few µs per event.
"""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import units
from ..measure.garbage import collector_paused
from .subject import Subject, cold_call_ns
from .tree import WIDTH

FILE = "operators.txt"

_SHOWN = 25
_NAME = 38


def take(subject: Subject, folder: Path) -> dict[str, Any]:
    """Profile the repeats after a first call, and save torch.profiler's own table.

    Returns:
        `rows` by operator and input shapes, sorted by self time, over all repeats: `name`, `shapes`, `calls`,
        `self_cpu_ns`, `cpu_ns`, `self_device_ns`, `device_ns`; `self_bytes`, memory of its device that it
        allocated and did not free; `flops`, torch's estimate for matrix products, sums and convolutions.
        `aten_events` of torch.profiler, and `outermost_aten_events`, those inside no other; `cold_ns`, the
        first call without a profile; `repeats`.
    """
    from torch.profiler import ProfilerActivity, profile

    from ..measure.memory import quiet_profiler

    quiet_profiler()
    cold_ns = cold_call_ns(subject)
    on_gpu = subject.device == "cuda"
    events: Any = []
    for _ in range(subject.repeats):
        with (
            subject.ready(),
            collector_paused(),
            profile(
                activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])],
                record_shapes=True,
                profile_memory=True,
                with_flops=True,
            ) as profiled,
        ):
            subject.call()
        earlier, events = events, profiled.events()  # a list with key_averages
        events.extend(earlier)
    averages = events.key_averages(group_by_input_shapes=True)
    order = "self_device_time_total" if on_gpu else "self_cpu_time_total"
    text = averages.table(sort_by=order, row_limit=-1, max_name_column_width=100)
    (folder / FILE).write_text(text, encoding="utf-8")
    rows = [_row(average, on_gpu=on_gpu) for average in averages if _is_operator(average)]
    column = "self_device_ns" if on_gpu else "self_cpu_ns"
    aten = [event for event in events if event.name.startswith("aten::")]
    return {
        "rows": sorted(rows, key=lambda row: -row[column]),
        "aten_events": len(aten),
        "outermost_aten_events": sum(not _within_another(event) for event in aten),
        "cold_ns": cold_ns,
        "repeats": subject.repeats,
    }


def _is_operator(average: Any) -> bool:
    """Whether it is a host operator. GPU kernels have rows, too, but their operators include their time."""
    return average.key != "[memory]" and average.device_type.name == "CPU"


def _row(average: Any, *, on_gpu: bool) -> dict[str, Any]:
    return {
        "name": average.key,
        "shapes": average.input_shapes,
        "calls": average.count,
        "self_cpu_ns": round(average.self_cpu_time_total * 1000),
        "cpu_ns": round(average.cpu_time_total * 1000),
        "self_device_ns": round(average.self_device_time_total * 1000),
        "device_ns": round(average.device_time_total * 1000),
        "self_bytes": average.self_device_memory_usage if on_gpu else average.self_cpu_memory_usage,
        "flops": average.flops,
    }


def _within_another(event: Any) -> bool:
    """Whether another ATen operator is anywhere around it."""
    parent = event.cpu_parent
    while parent is not None and not parent.name.startswith("aten::"):
        parent = parent.cpu_parent
    return parent is not None


def table(section: Mapping[str, Any]) -> str:
    """Return the first 25 operators as a table."""
    rows, repeats = section["rows"], section["repeats"]
    shown = rows[:_SHOWN]
    column = "self_device_ns" if any(row["self_device_ns"] for row in rows) else "self_cpu_ns"
    whole_ns = sum(row[column] for row in rows)
    lines = [_line("Operator and shapes of its inputs", "Count", "Self time", "Frac.", "Memory", "MFLOP")]
    lines += [
        _line(
            _cut(f"{row['name']} {_shapes(row['shapes'])}"),
            _number(row["calls"] / repeats),
            units.seconds(row[column] / repeats / 1e9),
            units.fraction(row[column] / whole_ns),
            _size(row["self_bytes"] // repeats),
            f"{row['flops'] / repeats / 1e6:.3g}" if row["flops"] else "",
        )
        for row in shown
    ]
    events = section["aten_events"] / repeats
    outermost = section["outermost_aten_events"] / repeats
    note = (
        f"Means over {repeats} profiled calls. The first call, {units.seconds(section['cold_ns'] / 1e9)}, "
        f"was not profiled. {len(rows) - len(shown)} more rows: {FILE}. torch.profiler recorded "
        f"{_number(events)} ATen events, {_number(outermost)} of them outermost; these differ from the "
        "dispatcher's operators in `counts`."
    )
    return "\n".join([*lines, textwrap.fill(note, WIDTH)])


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"  # noqa: PLR2004 - three digits


def _shapes(shapes: Sequence[Sequence[int]]) -> str:
    return " ".join("×".join(map(str, shape)) for shape in shapes if shape)


def _size(count: int) -> str:
    if not count:
        return ""
    return units.size(count) if count > 0 else f"-{units.size(-count)}"


def _cut(text: str) -> str:
    return text if len(text) <= _NAME else f"{text[: _NAME - 1]}…"


def _line(name: str, calls: str, own: str, share: str, size: str, flops: str) -> str:
    return f"{name:<{_NAME}} {calls:>5} {own:>9} {share:>6} {size:>9} {flops:>7}"
