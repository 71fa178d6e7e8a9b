"""The project's tests that need a GPU."""

from collections.abc import Mapping
from typing import Any

from steps import rows

SELECTED = "cuda"
OPTIONS = ("--continue-on-collection-errors",)
"""A package that is not there is to keep no other test from running."""


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return one."""
    return {"pytest": 120.0}


def run(unit: str, plan: Any) -> dict[str, Any]:  # noqa: ARG001
    """Run them, one at a time."""
    return pytest(plan, "tests/measure/test_cuda_clock.py" if plan.small else "tests", "-m", SELECTED)


def pytest(plan: Any, *arguments: str) -> dict[str, Any]:
    """Run tests, and return the last line and the failures."""
    ended = plan.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfE", *OPTIONS, *arguments)
    lines = ended.stdout.strip().splitlines() or [ended.stderr[-500:]]
    failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return {"last_line": lines[-1].strip("= "), "failures": failures, "log": ended.stdout[-6000:]}


def table(found: Mapping[str, Any]) -> str:
    """Say how they ended."""
    return rows(
        "tests | ended",
        [(unit, "<br>".join([one["last_line"], *one["failures"]])) for unit, one in found.items()],
    )
