"""Large graphs: the synthetic stand-in of ogbn-products, up to the limit of memory."""

from collections.abc import Mapping
from typing import Any

from steps import timings

_SELECTED = "(spmm_sum or gather_scatter_sum or conv_cached or epoch-) and not edge_index"


def units(small: bool) -> dict[str, float]:
    """Return a quarter of it, and all of it."""
    if small:
        return {"rmat:7": 60.0}
    return {"ogbn-products:synthetic@0.25": 120.0, "ogbn-products:synthetic": 380.0}


def run(unit: str, plan: Any) -> dict[str, Any]:
    """Time what moves most; that memory runs out is a result."""
    return timings.timed(plan, unit, "torch,pyg", "-k", "spmm_sum" if plan.small else _SELECTED)


def table(found: Mapping[str, Any]) -> str:
    """Lay out each benchmark."""
    return timings.table(found)
