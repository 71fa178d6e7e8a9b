"""The core benchmarks, each checked against its float64 reference before it is timed."""

import json
import re
from collections.abc import Mapping
from typing import Any

from steps import rows

CORE = ("benchmarks", "-m", "core", "--gnn-platform", "torch,pyg,sparse")
"""What other steps time too. DGL is there for CPUs only: PyG's `propagate` takes update_all's place."""


def units(small: bool) -> dict[str, float]:
    """Return a unit for each graph."""
    return {"rmat:6": 60.0} if small else {"cora": 90.0, "ogbn-arxiv:synthetic": 90.0}


def run(unit: str, plan: Any) -> dict[str, Any]:
    """Time the core benchmarks, and save a run file next to the results for `gnnbench report`."""
    chosen = ("-k", "spmm_sum or epoch-", "--gnn-hidden", "8") if plan.small else ()
    time = ("--gnn-time", "2s" if plan.small else "30s")
    content = plan.suite(*CORE, "--gnn-dataset", unit, *time, *chosen)
    kept = plan.folder / "runs" / f"{re.sub('[^a-z0-9]+', '-', unit)}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(content["file"]), encoding="utf-8")
    return {
        "benchmarks": [_summary(one) for one in content["benchmarks"]],
        "incomplete": {one["fullname"]: one["error"] for one in content["gnnbench"]["incomplete"]},
        "last_line": content["last_line"],
        "failures": content["failures"],
        "skips": sorted({_reason(line) for line in content["skips"]}),
    }


def _reason(line: str) -> str:
    """Return the reason in pytest's line about skipped tests."""
    return line.rpartition(".py:")[2].partition(": ")[2] or line


def _summary(benchmark: Mapping[str, Any]) -> dict[str, Any]:
    import numpy as np

    from gnnbench.engine.measure import estimate

    ours = benchmark["extra_info"]["gnnbench"]
    measured, limit, details = ours["measurement"], ours["limit"], ours["counters"]["details"]
    device = measured["processes"][0]["device_blocks_ns"]
    blocks = [np.asarray(block) for block in device]
    return {
        "test": benchmark["fullname"],
        **{name: ours["spec"][name] for name in ("operation", "direction", "platform", "dataset")},
        "wall_ns": measured["location_ns"],
        "device_ns": estimate.estimate(estimate.block_values(blocks)).location if blocks else None,
        "iterations": measured["iterations"],
        "in_place": measured["in_place"],
        "fraction": limit and limit["fraction"],
        "note": limit and limit["note"],
        "peak_bytes": details["memory"]["peak_bytes"],
        "kernels": sum(details["kernels"].values()),
        "host_reads": ours["counters"]["host_reads"],
    }


def table(found: Mapping[str, Any]) -> str:
    """Return a table of all benchmarks."""
    from gnnbench.engine.ground import units as words

    lines = []
    for one in (each for unit in found.values() for each in unit["benchmarks"]):
        times = (one["wall_ns"], one["device_ns"])
        lines.append(
            [
                *(one[name] for name in ("dataset", "operation", "direction", "platform")),
                *(words.seconds(time / 1e9) if time else "" for time in times),
                words.fraction(one["fraction"]) if one["fraction"] else "",
                *(one["kernels"], one["host_reads"], words.size(one["peak_bytes"])),
            ]
        )
    heading = "graph | operation | direction | on | wall | GPU | limit | kernels | host reads | peak"
    short = [f"- {name}: {why}" for unit in found.values() for name, why in unit["incomplete"].items()]
    short += [f"- {line}" for unit in found.values() for line in unit["failures"]]
    short += [
        f"- skipped: {reason}"
        for reason in sorted({each for unit in found.values() for each in unit["skips"]})
        if "install" in reason or "CUDA" in reason or "cuda" in reason
    ]
    ends = [f"- {name}: {unit['last_line'].strip('= ')}" for name, unit in found.items()]
    return "\n".join([rows(heading, lines), "", *short, *ends])
