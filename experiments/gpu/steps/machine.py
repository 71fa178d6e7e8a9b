"""The machine, and how fast its GPU copies and multiplies."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from steps import rows


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return two units: the environment, and the rates."""
    return {"record": 15.0, "rates": 20.0}


def run(unit: str, plan: Any) -> dict[str, Any]:
    """Return the environment and the findings of `gnnbench doctor`, or measure the rates."""
    return _rates(plan) if unit == "rates" else _record(plan)


def _record(plan: Any) -> dict[str, Any]:
    import torch

    from gnnbench.engine.cli import doctor
    from gnnbench.engine.ground import environment
    from gnnbench.engine.ground.files import cache_folder

    found = {"environment": asdict(environment.collect(device=plan.device))}
    found["findings"] = [asdict(finding) for finding in doctor.examine({"data": None}, cache_folder())]
    if plan.device == "cuda":
        properties = torch.cuda.get_device_properties("cuda")
        found["gpu"] = {
            "memory_bytes": properties.total_memory,
            "l2_bytes": properties.L2_cache_size,
            "multiprocessors": properties.multi_processor_count,
            "capability": f"{properties.major}.{properties.minor}",
        }
    return found


def _rates(plan: Any) -> dict[str, Any]:
    from gnnbench.suite import roofline

    dtypes = ("float32", "bfloat16", "float64")
    return {dtype: asdict(roofline.measure(plan.device, dtype)) for dtype in dtypes}


def table(found: Mapping[str, Any]) -> str:
    """Return a table of the machine, what disturbs timings on it, and its rates."""
    record = found["record"]
    here, gpu = record["environment"], record.get("gpu")
    lines = [
        ("processor", f"{here['cpu']}, {here['cores']} cores"),
        ("versions", ", ".join(f"{name} {version}" for name, version in here["libraries"])),
    ]
    if gpu:
        size = f"{gpu['memory_bytes'] / 2**30:.0f} GiB, L2 {gpu['l2_bytes'] / 2**20:.0f} MiB"
        driver = f"driver {here['gpu']['driver']}, CUDA {here['gpu']['cuda']}"
        lines.insert(0, ("GPU", f"{here['gpu']['name']}, {size}, {gpu['multiprocessors']} SMs, {driver}"))
    notes = [finding for finding in record["findings"] if finding["status"] == "note"]
    lines += [(f"note: {finding['what']}", finding["detail"]) for finding in notes]
    for dtype, rate in found.get("rates", {}).items():
        copied = f"copies {rate['copy_bytes_per_second'] / 1e12:.2f} TB/s, read and written"
        lines.append((dtype, f"{copied}; multiplies {rate['flops_per_second'] / 1e12:.1f} TFLOP/s"))
    return rows("|", lines)
