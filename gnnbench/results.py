"""Our part of pytest-benchmark's JSON: what is kept with each benchmark."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnnbench.case import Case
    from gnnbench.counters import Counters
    from gnnbench.limits import Rates

FORMAT_VERSION = 2
# 1: spec and graph.
# 2: code_hash, measurement, counters, limit.


def identity(
    case: "Case", functions: Iterable[Callable[..., Any]], folders: Iterable[Path]
) -> dict[str, Any]:
    """Return what says which work was measured: the start of `extra_info["gnnbench"]`.

    Args:
        case: the spec and its graph.
        functions: the benchmark's own code: the test, and what it has timed.
        folders: where that code and its helpers lie.
    """
    from gnnbench.code_hash import fingerprint

    graph = case.graph
    return {
        "version": FORMAT_VERSION,
        "spec": asdict(case.spec),
        "graph": {
            "name": graph.name,
            "synthetic": graph.synthetic,
            "nodes": graph.num_nodes,
            "entries": graph.num_edges,
            "features": graph.num_features,
            "classes": graph.num_classes,
            "content_hash": graph.content_hash,
        },
        "code_hash": fingerprint(functions, folders),
    }


def counters(found: "Counters") -> dict[str, Any]:
    """Return what a call does, counted: the part `counters`."""
    return {
        "counts": found.counts,
        "host_reads": found.host_reads,
        "unsteady": list(found.unsteady),
        "details": found.details,
    }


def limit(case: "Case", seconds: float, rates: "Rates") -> dict[str, Any] | None:
    """Return how near a time is to the least possible one: the part `limit`; None where no model is.

    Args:
        case: what was run.
        seconds: the location of its time.
        rates: of the device.
    """
    from gnnbench import limits
    from gnnbench.work import least

    work = least(case)
    if work is None:
        return None
    cache_bytes = limits.last_level_cache_bytes(case.spec.device)
    return {
        "least": asdict(work),
        "rates": asdict(rates),
        "fraction": limits.fraction(work, seconds, rates),
        "note": limits.explain(work, seconds, rates, cache_bytes),
    }
