"""torch_sparse, built on the machine from its source distribution, and its benchmarks."""

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import packages

from steps import rows, timings

_BUILDS = {"torch_scatter": 150.0, "torch_sparse": 300.0}


def units(small: bool) -> dict[str, float]:
    """Return the builds that are needed, and the suite on two graphs."""
    if small:
        return {"suite rmat:6": 60.0}
    builds = {name: seconds for name, seconds in _BUILDS.items() if not packages.is_there(name)}
    return {**builds, "suite cora": 60.0, "suite ogbn-arxiv:synthetic": 120.0}


def run(unit: str, plan: Any) -> dict[str, Any]:
    """Build, keeping the wheel beside the results for the next call; or time."""
    if unit.startswith("suite "):
        chosen = ("-k", "spmm_sum", "--gnn-hidden", "8") if plan.small else ()
        return timings.timed(plan, unit.removeprefix("suite "), "sparse", *chosen)
    import torch

    major, minor = torch.cuda.get_device_capability()
    wheels = plan.folder / "wheels"
    command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", str(wheels)]
    variables = {
        "FORCE_CUDA": "1",
        "TORCH_CUDA_ARCH_LIST": f"{major}.{minor}",
        "MAX_JOBS": str(os.cpu_count()),
    }
    subprocess.run(
        [*command, packages.source(plan.packages, unit)], check=True, env={**os.environ, **variables}
    )
    packages.install(plan.packages, plan.folder)
    ask = f"import torch, {unit}; print(torch.ops.{unit}.cuda_version())"
    return {"cuda_version": plan.python("-c", ask).stdout.strip()}


def table(found: Mapping[str, Any]) -> str:
    """Lay out the builds and the suite."""
    built = [(name, one["cuda_version"]) for name, one in found.items() if name in _BUILDS]
    suites = {name: one for name, one in found.items() if name not in _BUILDS}
    parts = [rows("built | for CUDA", built)] if built else []
    return "\n\n".join([*parts, *([timings.table(suites)] if suites else [])])
