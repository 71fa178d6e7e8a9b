"""The machine."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from steps import rows


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return one."""
    return {"record": 15.0}


def run(unit: str, plan: Any) -> dict[str, Any]:  # noqa: ARG001
    """Record the environment, and what the doctor finds."""
    import torch

    from gnnbench import environment
    from gnnbench.cli import doctor
    from gnnbench.files import cache_folder

    found = {"environment": asdict(environment.collect(device=plan.device))}
    found["findings"] = [asdict(finding) for finding in doctor.examine(None, cache_folder())]
    if plan.device == "cuda":
        properties = torch.cuda.get_device_properties("cuda")
        found["gpu"] = {
            "memory_bytes": properties.total_memory,
            "l2_bytes": properties.L2_cache_size,
            "multiprocessors": properties.multi_processor_count,
            "capability": f"{properties.major}.{properties.minor}",
        }
    return found


def table(found: Mapping[str, Any]) -> str:
    """Name it, and what disturbs on it."""
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
    return rows("|", lines)
