"""gnnbench's part of a benchmark in pytest-benchmark's JSON."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..workloads.case import Case

FORMAT_VERSION = 2
# 1: spec and graph.
# 2: code_hash, measurement, counters, limit; since November 2026 also fingerprint, no_fingerprint,
#    sources, definition_hash and measurement.whole_call.

NOT_TIMED = frozenset(("growth", "instructions"))
"""Fields of benchmarks whose calls were timed only because pytest-benchmark wants a time. Only files of
earlier versions have instructions."""


def identity(
    case: "Case",
    functions: Iterable[Callable[..., Any]],
    folders: Iterable[Path],
    definition: Iterable[Callable[..., Any]],
) -> dict[str, Any]:
    """Return the part of `extra_info["gnnbench"]` that identifies the measured work.

    Args:
        case: the spec and its graph.
        functions: the benchmark's own code: the test and the timed function.
        folders: folders of that code and its helpers.
        definition: the test and its reference.
    """
    from ..measure.code_hash import code_hash

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
        "code_hash": code_hash(functions, folders),
        "definition_hash": code_hash(definition, folders),
    }
