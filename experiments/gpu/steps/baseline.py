"""A baseline, recorded as a user would."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steps import core, pull_request

_PROCESSES = 3
_TIMINGS = Path("baselines", "timings")


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return the only unit."""
    return {"record": 60.0}


def run(unit: str, plan: Any) -> dict[str, Any]:  # noqa: ARG001
    """Record the core benchmarks on Cora, and save the files next to the results.

    `cp -r FOLDER/baselines .` copies them into a repository.
    """
    chosen = (
        ("-k", "spmm_sum and torch", "--gnn-dataset", "rmat:6") if plan.small else ("--gnn-dataset", "cora")
    )
    suite = (*core.CORE, "--gnn-device", plan.device, "--gnn-time", "15s", *chosen)
    command = ("baseline", "record", "--processes", 2 if plan.small else _PROCESSES)
    with tempfile.TemporaryDirectory() as scratch:
        tree = pull_request.repository(Path(scratch))
        ended = plan.gnnbench(*command, "--reason", "the first on a GPU", "--", *suite, tree=tree)
        if (tree / _TIMINGS).exists():
            shutil.copytree(tree / _TIMINGS, plan.folder / _TIMINGS, dirs_exist_ok=True)
    return {"exit_status": ended.returncode, "said": (ended.stdout + ended.stderr).strip().splitlines()[-3:]}


def table(found: Mapping[str, Any]) -> str:
    """Return the exit status and the last lines of the command."""
    record = found["record"]
    said = "\n".join(f"    {line}" for line in record["said"])
    return f"`gnnbench baseline record` ended with exit status {record['exit_status']}:\n\n{said}"
