"""What identifies the measured work in a run file."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import codec
from ..measure.code_hash import code_hash
from ..results.parts import FORMAT_VERSION, GraphPart

if TYPE_CHECKING:
    from .case import Case


def identity(
    case: "Case",
    functions: Iterable[Callable[..., Any]],
    folders: Iterable[Path],
    definition: Iterable[Callable[..., Any]],
) -> dict[str, Any]:
    """Return the part of `extra_info["gnnbench"]` that identifies the measured work."""
    graph = case.graph
    sizes = graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes
    return {
        "version": FORMAT_VERSION,
        "spec": codec.encode(case.spec),
        "graph": codec.encode(GraphPart(graph.content_hash, graph.name, graph.synthetic, *sizes)),
        "code_hash": code_hash(functions, folders),
        "definition_hash": code_hash(definition, folders),
    }
