"""The kind `operators`: torch.profiler's table, with shapes, memory and FLOPs.

Its counts differ from the dispatcher's in `measure/counters.py`. They include operators that call others,
such as `aten::linear` and its `aten::t` besides the `aten::addmm` that is dispatched below autograd, and
exclude what other libraries do themselves. Times include the profiler's overhead, a few µs per event.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import units
from ..measure.conditions import collector_paused
from . import text
from .subject import Subject, timed_ns

FILE = "operators.txt"

_SHOWN = 25
_COLUMNS = {
    "Operator and shapes of its inputs": -38,
    "Count": 5,
    "Self time": 9,
    "Frac.": 6,
    "Memory": 9,
    "MFLOP": 7,
}


def take(subject: Subject, folder: Path) -> dict[str, Any]:
    """Profile the repeats after a first call, and save torch.profiler's own table.

    Returns:
        `rows` by operator and input shapes, sorted by self time, over all repeats: `name`, `shapes`, `calls`,
        `self_cpu_ns`, `cpu_ns`, `self_device_ns`, `device_ns`; `self_bytes`, memory of its device that it
        allocated and did not free; `flops`, torch's estimate for matrix products, sums and convolutions.
        `cold_ns`, the first call without a profile; `repeats`.
    """
    from torch.profiler import ProfilerActivity, profile

    from ..measure.memory import quiet_profiler

    quiet_profiler()
    cold_ns = timed_ns(subject)
    on_gpu = subject.device == "cuda"
    events: Any = []
    for _ in range(subject.repeats):
        with (
            subject.ready() as call,
            collector_paused(),
            profile(
                activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])],
                record_shapes=True,
                profile_memory=True,
                with_flops=True,
            ) as profiled,
        ):
            call()
        earlier, events = events, profiled.events()  # a list with key_averages
        events.extend(earlier)
    averages = events.key_averages(group_by_input_shapes=True)
    order = "self_device_time_total" if on_gpu else "self_cpu_time_total"
    whole = averages.table(sort_by=order, row_limit=-1, max_name_column_width=100)
    (folder / FILE).write_text(whole, encoding="utf-8")
    rows = [_row(average, on_gpu=on_gpu) for average in averages if _is_operator(average)]
    column = "self_device_ns" if on_gpu else "self_cpu_ns"
    return {
        "rows": sorted(rows, key=lambda row: -row[column]),
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


def table(section: Mapping[str, Any]) -> str:
    """Return the first 25 operators as a table."""
    rows, repeats = section["rows"], section["repeats"]
    column = "self_device_ns" if any(row["self_device_ns"] for row in rows) else "self_cpu_ns"
    whole_ns = sum(row[column] for row in rows)
    shown = [
        (
            f"{row['name']} {_shapes(row['shapes'])}",
            _number(row["calls"] / repeats),
            text.nanoseconds(row[column] / repeats),
            units.fraction(row[column] / whole_ns),
            units.size(size) if (size := row["self_bytes"] // repeats) else "",
            f"{row['flops'] / repeats / 1e6:.3g}" if row["flops"] else "",
        )
        for row in rows[:_SHOWN]
    ]
    note = (
        f"Means over {repeats} profiled calls. {text.first_call(section)} {len(rows) - len(shown)} more "
        f"rows: {FILE}. Unlike those of `counts`, the operators include some that only call others."
    )
    return text.page(text.table(_COLUMNS, shown), note)


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"  # noqa: PLR2004 - three digits


def _shapes(shapes: Sequence[Sequence[int]]) -> str:
    return " ".join("×".join(map(str, shape)) for shape in shapes if shape)
