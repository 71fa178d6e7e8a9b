"""Injected slowdowns of all core benchmarks, found by gnnbench ab."""

from collections.abc import Mapping
from typing import Any

from steps import identical


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return a run as the unit for each slowdown and kind of graph."""
    return {
        f"{share} {kind}": identical.SECONDS + 10.0 for kind in identical.GRAPHS for share in ("3%", "1%")
    }


def run(unit: str, plan: Any) -> dict[str, Any]:
    """Compare the tree with itself, slowed down; the effect of interest is a third of the slowdown."""
    percent, kind = unit.split()
    share = float(percent.rstrip("%")) / 100
    options = identical.timed(plan, f"{share / 3:.2%}")
    options = (*options, "--plant", percent)
    return identical.compared(plan, ".", ".", *options, graphs=identical.GRAPHS[kind])


def table(found: Mapping[str, Any]) -> str:
    """Return a table of all verdicts."""
    return identical.table(found)
