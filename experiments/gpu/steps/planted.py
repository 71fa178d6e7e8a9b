"""Injected slowdowns of four kernels with gnnbench ab, at a minimum effect of interest of 1 %."""

from collections.abc import Mapping
from typing import Any

from steps import identical

_SHARES = (0.03, 0.01)
_RUNS = 5
_KERNELS = "copy or spmm or gather_scatter or degrees"
_BUDGET = ("--budget", 10, "--effect", "1%")


def units(small: bool) -> dict[str, float]:
    """Return the runs: of 3 % first."""
    planned = [f"{share:.0%} run {number}" for share in _SHARES for number in range(_RUNS)]
    return dict.fromkeys(planned[:1] if small else planned, 55.0)


def run(unit: str, plan: Any) -> dict[str, Any]:
    """Compare the working tree with itself, slowed down."""
    share = float(unit.partition("%")[0]) / 100
    suite = (identical.KERNELS, "-k", "copy" if plan.small else _KERNELS)
    return identical.compared(plan, f"env:GNNBENCH_SLOWDOWN={share:g}", _BUDGET, suite)


def table(found: Mapping[str, Any]) -> str:
    """Lay out verdicts by kernel and slowdown."""
    ordered = dict(sorted(found.items()))
    return identical.by_kernel({unit: f"{unit.partition(' ')[0]} slower" for unit in ordered}, ordered)
