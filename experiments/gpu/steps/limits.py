"""Roofline bounds: the GPU's copy and arithmetic rates, and the kernels farthest from the bound."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plan import Results

from steps import rows

_FARTHEST = 3
_KERNELS = 3


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return the rates, and what the farthest do, which needs the step `timings`."""
    return {"rates": 20.0, "farthest": 75.0}


def run(unit: str, plan: Any) -> Any:
    """Measure, or profile."""
    if unit == "rates":
        from dataclasses import asdict

        from gnnbench.workloads import roofline

        return {
            dtype: asdict(roofline.measure(plan.device, dtype))
            for dtype in ("float32", "bfloat16", "float64")
        }
    timings = Results(plan.folder, "timings", plan.device).units.values()
    known = [one for found in timings if "result" in found for one in found["result"]["benchmarks"]]
    judged = sorted((one for one in known if one["fraction"]), key=lambda one: one["fraction"])
    return [_explained(one, plan) for one in judged[:_FARTHEST]]


def _explained(benchmark: Mapping[str, Any], plan: Any) -> dict[str, Any]:
    """Profile a benchmark and say what its time is made of."""
    kind = "kernels" if plan.device == "cuda" else "operators"
    with tempfile.TemporaryDirectory() as scratch:
        chosen = (
            "--dataset",
            benchmark["dataset"],
            "--platform",
            benchmark["platform"],
            "--device",
            plan.device,
        )
        hidden = ("--hidden", "8") if plan.small else ()
        command = ("profile", benchmark["test"], "--with", kind, "--folder", scratch, *chosen, *hidden)
        ended = plan.gnnbench(*command)
        files = list(Path(scratch).rglob("profile.json"))
        if not files:
            raise RuntimeError((ended.stdout + ended.stderr)[-2000:])
        record = json.loads(files[0].read_text(encoding="utf-8"))
    section, repeats = record["sections"][kind], record["repeats"]
    time = "total_ns" if kind == "kernels" else "self_cpu_ns"
    waits = sum(row["calls"] for row in section.get("synchronizations", ()))
    return {
        **benchmark,
        "busy_ns": sum(row[time] for row in section["rows"]) / repeats,
        "calls": sum(row["calls"] for row in section["rows"]) / repeats,
        "waits": waits / repeats,
        "longest": [(row["name"][:60], row[time] / repeats) for row in section["rows"][:_KERNELS]],
        "findings": [finding["text"] for finding in record["findings"]],
    }


def table(found: Mapping[str, Any]) -> str:
    """Lay out rates, and of the farthest where their time goes."""
    from gnnbench import units as words

    parts = []
    if "rates" in found:
        lines = [
            (dtype, f"{rate['copy_bytes_per_second'] / 1e12:.2f}", f"{rate['flops_per_second'] / 1e12:.1f}")
            for dtype, rate in found["rates"].items()
        ]
        parts.append(rows("dtype | copy, TB/s read and written | matrix product, TFLOP/s", lines))
    lines = [
        (
            f"{one['operation']} {one['direction']} {one['platform']} {one['dataset']}",
            words.fraction(one["fraction"]),
            words.seconds(one["wall_ns"] / 1e9),
            f"{words.seconds(one['busy_ns'] / 1e9)} in {one['calls']:.0f}",
            f"{one['waits']:.0f}",
            "; ".join(f"{words.seconds(ns / 1e9)} {name}" for name, ns in one["longest"]).replace("|", "/"),
            " ".join(one["findings"]),
        )
        for one in found.get("farthest", ())
    ]
    heading = "farthest from the limit | limit | a call | of it in kernels | waits | longest | findings"
    return "\n\n".join([*parts, rows(heading, lines)])
