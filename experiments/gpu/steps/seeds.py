"""What the profiles that the suite grew out of show: kernels by name, and the host's waits for the GPU."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steps import rows

_KERNELS = 3
_SELECTED = {
    "epoch": ("epoch", "torch,pyg,sparse"),
    "spmm_sum": ("spmm_sum", "torch,pyg,sparse"),
    "propagate": ("conv", "pyg,sparse"),
}
"""The profiled operations, and their platforms."""


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return a unit for each operation."""
    return dict.fromkeys(_SELECTED, 30.0)


def run(unit: str, plan: Any) -> list[dict[str, Any]]:
    """Profile an operation on each platform.

    Raises:
        RuntimeError: the profile left no record.
    """
    operation, platforms = _SELECTED[unit]
    dataset = "rmat:6" if plan.small else "ogbn-arxiv:synthetic"
    kind = "kernels" if plan.device == "cuda" else "functions"
    chosen = ("--dataset", dataset, "--platform", platforms, "--device", plan.device)
    with tempfile.TemporaryDirectory() as scratch:
        ended = plan.gnnbench("profile", operation, "--with", kind, "--folder", scratch, *chosen)
        files = sorted(Path(scratch).rglob("profile.json"))
        if not files:
            raise RuntimeError((ended.stdout + ended.stderr)[-2000:])
        return [_summary(json.loads(file.read_text(encoding="utf-8")), kind) for file in files]


def _summary(record: Mapping[str, Any], kind: str) -> dict[str, Any]:
    section, repeats = record["sections"][kind], record["repeats"]
    waits, counts = section.get("synchronizations", ()), record["sections"]["counts"]
    reads = [*counts["host_reads"], *counts["mask_reads"]]
    found = {
        "benchmark": record["id"].rpartition("::")[2],
        "waits": [(row["name"], row["calls"] / repeats) for row in waits],
        "counted": [(row["name"], row["caller"], row["count"]) for row in reads],
    }
    if kind == "kernels":
        whole_ns = sum(row["total_ns"] for row in section["rows"])
        found |= {
            "busy_ns": whole_ns / repeats,
            "kernels": sum(row["calls"] for row in section["rows"]) / repeats,
            "longest": [
                (
                    row["name"],
                    row["calls"] / repeats,
                    row["total_ns"] / row["calls"],
                    row["total_ns"] / whole_ns,
                )
                for row in section["rows"][:_KERNELS]
            ],
            "copies": [(row["name"], row["calls"] / repeats) for row in section["copies"]],
        }
    return found


def table(found: Mapping[str, Any]) -> str:
    """Return tables of the longest kernels of each operation, and of the synchronisations."""
    from gnnbench.engine.ground import units as words

    lines, ends = [], []
    for one in (each for unit in found.values() for each in unit):
        for name, calls, mean_ns, share in one.get("longest", ()):
            short = name.removeprefix("void ").partition("<")[0]
            cells = (words.fraction(share), f"{calls:g}", words.seconds(mean_ns / 1e9), f"`{short[:70]}`")
            lines.append((one["benchmark"], *cells))
        waits, counted = (sum(each[-1] for each in one[kind]) for kind in ("waits", "counted"))
        ends.append(
            f"- {one['benchmark']}: {waits:g} waits of the host a call in the trace, {counted} reads counted."
        )
    heading = "benchmark | of the kernels' time | calls | mean | kernel"
    return "\n".join([rows(heading, lines), "", *ends])
