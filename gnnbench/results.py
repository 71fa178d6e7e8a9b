"""Our part of pytest-benchmark's JSON: what is kept with each benchmark."""

from dataclasses import asdict
from typing import Any

from gnnbench.case import Case

FORMAT_VERSION = 1
# 1: spec and graph.


def extra_info(case: Case) -> dict[str, Any]:
    """Return what goes under `extra_info["gnnbench"]`; docs/formats.md describes it."""
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
    }
