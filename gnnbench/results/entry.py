"""Our part of pytest-benchmark's JSON: what is kept with each benchmark."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..measure.counters import Counters
    from ..workloads.case import Case

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
    from ..measure.code_hash import fingerprint

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
