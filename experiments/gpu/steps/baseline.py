"""A baseline, recorded as a user would."""

import shutil
from collections.abc import Mapping
from typing import Any

from plan import ROOT

_PROCESSES = 3


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return one."""
    return {"record": 180.0}


def run(unit: str, plan: Any) -> dict[str, Any]:  # noqa: ARG001
    """Record the core benchmarks on Cora, and keep the files beside the results.

    From there `cp -r FOLDER/baselines .` brings them into a repository.
    """
    chosen = (
        ("-k", "spmm_sum and torch", "--gnn-dataset", "rmat:6") if plan.small else ("--gnn-dataset", "cora")
    )
    arguments = (
        "benchmarks",
        "-m",
        "core",
        "--gnn-platform",
        "torch,pyg",
        "--gnn-device",
        plan.device,
        *chosen,
    )
    command = ["baseline", "record", "--processes", 2 if plan.small else _PROCESSES, "--name", "gpu"]
    timings = ROOT / "baselines" / "timings"
    had_some = timings.exists()
    ended = plan.gnnbench(*command, "--reason", "the first on a GPU", "--", *arguments)
    if timings.exists():
        shutil.copytree(timings, plan.folder / "baselines" / "timings", dirs_exist_ok=True)
        if not had_some:  # this tree is not to differ from its commit
            shutil.rmtree(timings)
    return {"exit_status": ended.returncode, "said": (ended.stdout + ended.stderr).strip().splitlines()[-3:]}


def table(found: Mapping[str, Any]) -> str:
    """Say what it said."""
    record = found["record"]
    said = "\n".join(f"    {line}" for line in record["said"])
    return f"`gnnbench baseline record` ended with exit status {record['exit_status']}:\n\n{said}"
