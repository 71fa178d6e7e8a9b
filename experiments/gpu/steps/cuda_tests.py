"""The project's tests that need a GPU."""

from collections.abc import Mapping
from typing import Any

from steps import rows


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return one."""
    return {"pytest": 120.0}


def run(unit: str, plan: Any) -> dict[str, Any]:  # noqa: ARG001
    """Run them; a package that is not there is to keep no other test from running."""
    tests = "tests/measure/test_cuda_clock.py" if plan.small else "tests"
    options = ("-q", "-p", "no:cacheprovider", "-rfE", "-n", "4", "--continue-on-collection-errors")
    ended = plan.python("-m", "pytest", *options, tests, "-m", "cuda")
    lines = ended.stdout.strip().splitlines() or [ended.stderr[-500:]]
    failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return {"last_line": lines[-1].strip("= "), "failures": failures, "log": ended.stdout[-20000:]}


def table(found: Mapping[str, Any]) -> str:
    """Say how they ended."""
    return rows(
        "tests | ended",
        [(unit, "<br>".join([one["last_line"], *one["failures"]])) for unit, one in found.items()],
    )
