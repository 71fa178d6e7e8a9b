"""The project's tests that need a GPU."""

from collections.abc import Mapping
from typing import Any

from steps import rows


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return the only unit."""
    return {"pytest": 150.0}


def run(unit: str, plan: Any) -> dict[str, Any]:  # noqa: ARG001
    """Run the tests one at a time, so that a missing package fails only the tests that need it."""
    tests = "tests/engine/measure/test_cuda_clock.py" if plan.small else "tests"
    options = ("-v", "-p", "no:cacheprovider", "-rfE", "--durations=12", "--continue-on-collection-errors")
    log = plan.folder / "cuda_tests.txt"  # exists even if the tests are stopped
    plan.python("-m", "pytest", *options, tests, "-m", "cuda", log=log)
    lines = log.read_text(encoding="utf-8").strip().splitlines()
    failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return {"last_line": lines[-1].strip("= "), "failures": failures}


def table(found: Mapping[str, Any]) -> str:
    """Return a table of pytest's last line and of the failed tests."""
    return rows(
        "tests | ended",
        [(unit, "<br>".join([one["last_line"], *one["failures"]])) for unit, one in found.items()],
    )
