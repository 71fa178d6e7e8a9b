"""Layouts and fresh processes: variation within a process and between processes."""

from collections.abc import Mapping
from typing import Any

from steps import identical, rows

_PROCESSES = 8
_POLICIES = ("sample", "one")


def units(small: bool) -> dict[str, float]:
    """Return fresh processes with layouts sampled and without, in turns."""
    processes = 2 if small else _PROCESSES
    return {f"{policy} {number}": 16.0 for number in range(processes) for policy in _POLICIES}


def run(unit: str, plan: Any) -> dict[str, Any]:
    """Time each kernel for a second; return its location and the deviation of its blocks' logarithms."""
    import numpy as np

    from gnnbench.measure import estimate

    policy = unit.partition(" ")[0]
    # A precision that is never reached: all spend the same time.
    options = ("--gnn-layouts", policy, "--gnn-precision", "0.0001")
    variables = {"GPU_DEVICE": plan.device, **({"GPU_SMALL": "1"} if plan.small else {})}
    seconds = ("--benchmark-max-time", "0.05" if plan.small else "1.0")
    content = plan.suite(identical.KERNELS, *options, *seconds, **variables)
    found = {}
    for one in content["benchmarks"]:
        blocks = one["extra_info"]["gnnbench"]["measurement"]["processes"][0]["blocks_ns"]
        values = estimate.block_values(blocks)
        found[one["name"].removeprefix("test_")] = {
            "location_ns": estimate.estimate(values).location,
            "block_sd": float(np.log(values).std()),
            "blocks": len(values),
        }
    return found


def table(found: Mapping[str, Any]) -> str:
    """Lay out deviations within and between processes, with layouts sampled and without."""
    import numpy as np

    lines = []
    for kernel in next(iter(found.values())):
        cells = [kernel]
        for policy in _POLICIES:
            mine = [one[kernel] for unit, one in found.items() if unit.startswith(policy)]
            places = np.log([one["location_ns"] for one in mine])
            cells += [
                f"{np.median([one['block_sd'] for one in mine]):.2%}" if mine else "",
                f"{places.std(ddof=1):.2%}" if len(mine) > 1 else "",
                f"{np.exp(np.ptp(places)):.3f}" if mine else "",
            ]
        lines.append(cells)
    titles = ("blocks, sd", "processes, sd", "slowest over fastest")
    columns = [f"{words}: {title}" for words in ("layouts sampled", "one layout") for title in titles]
    return rows(" | ".join(["kernel", *columns]), lines)
