"""The project's tests that need a GPU."""

from collections.abc import Mapping
from typing import Any

from steps import rows


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return one."""
    return {"pytest": 150.0}


def run(unit: str, plan: Any) -> dict[str, Any]:  # noqa: ARG001
    """Run them one at a time; a package that is not there is to keep no other test from running."""
    tests = "tests/measure/test_cuda_clock.py" if plan.small else "tests"
    options = (
        "-v",
        "-p",
        "no:cacheprovider",
        "-rfE",
        "--durations=12",
        "--continue-on-collection-errors",
    )
    log = plan.folder / "cuda_tests.txt"  # is there also where they are stopped
    plan.python("-m", "pytest", *options, tests, "-m", "cuda", log=log)
    lines = log.read_text(encoding="utf-8").strip().splitlines()
    failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return {"last_line": lines[-1].strip("= "), "failures": failures}


def table(found: Mapping[str, Any]) -> str:
    """Say how they ended."""
    return rows(
        "tests | ended",
        [(unit, "<br>".join([one["last_line"], *one["failures"]])) for unit, one in found.items()],
    )
