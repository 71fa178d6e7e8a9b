"""Drawing pairs of nodes without an edge, as link prediction does for each batch or epoch."""

from typing import TYPE_CHECKING, Any

from ..limits import KEY_OVERFLOW
from ..operation import Call, Kernel
from .neighbors import sampling

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from ..case import Case
    from ..graphs.graph import Graph

PAIRS = 4096


def wanted(graph: "Graph") -> int:
    """Return how many pairs are drawn: PAIRS, or of a small graph as many as it has entries."""
    return min(PAIRS, graph.num_edges)


def _pyg() -> Kernel:
    import random

    import torch
    from torch_geometric import utils

    from .. import sampled
    from ..platforms.pyg import numbered_edges

    def build(case: "Case") -> Any:
        return numbered_edges(case), wanted(case.graph)

    def run(given: Any) -> "Tensor":
        # PyG draws with Python's generator; torch's is for what it may draw with in other versions.
        random.seed(sampled.SEED)
        torch.default_generator.manual_seed(sampled.SEED)
        graph, count = given
        pairs: Tensor = utils.negative_sampling(graph.edge_index, graph.num_nodes, count)
        return pairs

    return Kernel(build, run)


def _dgl() -> Kernel:
    import torch

    from .. import sampled
    from ..platforms.dgl import dgl, structure

    def run(given: Any) -> "Tensor":
        dgl.seed(sampled.SEED)
        graph, count = given
        return torch.stack(dgl.sampling.global_uniform_negative_sampling(graph, count))

    return Kernel(lambda case: (structure(case), wanted(case.graph)), run)


def checked(case: "Case") -> "Callable[..., Tensor]":
    """Return a function that counts of what was drawn what `reference` does."""

    def result(pairs: "Tensor", *_inputs: Any) -> "Tensor":
        import torch

        from ..sampled import has_edges, whole

        source, target = whole(pairs)
        inside = (pairs >= 0) & (pairs < case.graph.num_nodes)
        found = (
            len(torch.stack((source, target)).unique(dim=1).t()),
            int((~inside).sum()),
            int(has_edges(case.graph, source, target).sum()),
            int((source == target).sum()),
        )
        return torch.tensor(found, device=pairs.device)

    return result


def reference(graph: "Graph") -> "Tensor":
    """Return the numbers of distinct pairs, of nodes outside the graph, of edges and of loops: int64 [4]."""
    import torch

    return torch.tensor([wanted(graph), 0, 0, 0])


OPERATIONS = (
    sampling(
        "negative_sampling",
        {
            "pyg": Call("utils.negative_sampling", _pyg, (KEY_OVERFLOW,)),
            "dgl": Call("dgl.sampling.global_uniform_negative_sampling", _dgl),
        },
        {"sparse": "torch_sparse draws no pairs: see pyg"},
        reference,
        graphs=(),  # PyG takes a second for the stand-in of ogbn-arxiv
    ),
)
