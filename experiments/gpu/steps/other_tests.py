"""The project's other tests, on a machine with a GPU."""

from collections.abc import Mapping
from typing import Any

from steps import cuda_tests


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return one."""
    return {"pytest": 300.0}


def run(unit: str, plan: Any) -> dict[str, Any]:  # noqa: ARG001
    """Run them in parallel."""
    if plan.small:
        return cuda_tests.pytest(plan, "tests/test_units.py", "-m", f"not {cuda_tests.SELECTED}")
    return cuda_tests.pytest(plan, "tests", "-m", f"not {cuda_tests.SELECTED}", "-n", "8")


def table(found: Mapping[str, Any]) -> str:
    """Say how they ended."""
    return cuda_tests.table(found)
