"""Drawing pairs of nodes that are not edges, as link prediction does for each batch or epoch."""

import random
from typing import Any

from ..annotations import Case, Graph, Tensor
from ..libraries import dgl, on_dgl, on_pyg, sampled, torch, utils
from ..limits import KEY_OVERFLOW
from ..operation import Call
from .neighbors import sampling

PAIRS = 4096


def pair_count(graph: Graph) -> int:
    """Return the number of pairs to draw: PAIRS, or the number of entries if that is smaller."""
    return min(PAIRS, graph.num_edges)


def _pyg(structure: Any) -> Tensor:
    # PyG draws with Python's generator; other versions may draw with torch's.
    random.seed(sampled.SEED)
    torch.default_generator.manual_seed(sampled.SEED)
    graph, count = structure
    return utils.negative_sampling(graph.edge_index, graph.num_nodes, count)


def _dgl(structure: Any) -> Tensor:
    dgl.seed(sampled.SEED)
    graph, count = structure
    return torch.stack(dgl.sampling.global_uniform_negative_sampling(graph, count))


def check(case: Case, pairs: Tensor, *_inputs: Any) -> Tensor:
    """Check that pairs [2, m] are distinct, no loops and no edges; return the number of pairs."""
    graph, (source, target) = case.graph, sampled.to_int64(pairs)
    inside = (pairs >= 0) & (pairs < graph.num_nodes)
    sampled.require(inside.all(), "a drawn pair has a node that is not in the graph")
    sampled.require(not sampled.has_edges(graph, source, target).any(), "a drawn pair is an edge")
    sampled.require(not (source == target).any(), "a drawn pair is a node with itself")
    keys = source * graph.num_nodes + target
    sampled.require(len(keys.unique()) == len(source), "a pair was drawn twice")
    return torch.tensor(pairs.size(1), device=pairs.device)


OPERATIONS = (
    sampling(
        "negative_sampling",
        pyg=Call(
            "utils.negative_sampling",
            _pyg,
            (KEY_OVERFLOW,),
            lambda case: (on_pyg.numbered_edges(case), pair_count(case.graph)),
        ),
        dgl=Call(
            "dgl.sampling.global_uniform_negative_sampling",
            _dgl,
            build=lambda case: (on_dgl.structure(case), pair_count(case.graph)),
        ),
        reference=lambda graph: torch.tensor(pair_count(graph)),
        graphs=(),  # PyG needs a second on the stand-in of ogbn-arxiv
    ),
)
