"""Checks of a sampler's draws: conditions that hold for every correct draw of neighbours."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .accuracy import MismatchError
from .graphs.graph import Graph
from .libraries import dgl

SEED = 0
"""Each timed call seeds the random generators with this number, so all calls draw the same neighbours."""


class Hop(NamedTuple):
    """The edges that were drawn at one hop, with the graph's node and entry indices: int64 [m] each.

    `expanded`, int64 [n], are the nodes whose neighbours the sampler had to draw.
    """

    source: Tensor
    target: Tensor
    entry: Tensor
    expanded: Tensor


def require(condition: Any, mistake: str) -> None:
    """Raise MismatchError with the `mistake` unless the condition is true."""
    if not condition:
        raise MismatchError(f"wrong draw: {mistake}")


def require_hop(graph: Graph, hop: Hop, fan_out: int, *, replace: bool = False) -> Tensor:
    """Return the number of neighbours drawn for each node at one hop, int64 [N], or raise MismatchError.

    Each drawn edge must be in the graph. Each expanded node must get `fan_out` distinct neighbours, or all if
    it has fewer. With `replace`, neighbours may repeat, and each node that has any must get `fan_out`.
    """
    is_entry = (hop.entry >= 0) & (hop.entry < graph.num_edges)
    require(bool(is_entry.all()), "an edge is not in the graph")
    source, target = graph.edge_index[:, hop.entry]
    require(
        torch.equal(hop.source, source) and torch.equal(hop.target, target),
        "an edge does not have the ends of its entry: nodes or entries are numbered wrongly",
    )
    is_distinct = len(hop.entry.unique()) == len(hop.entry)
    require(is_distinct or replace, "an edge was drawn twice, though without replacement")
    counts = hop.target.bincount(minlength=graph.num_nodes)
    expected = torch.zeros_like(counts)
    degree = degrees(graph)[hop.expanded]
    expected[hop.expanded] = fan_out * degree.clamp(max=1) if replace else degree.clamp(max=fan_out)
    nodes = (counts != expected).nonzero().squeeze(1).tolist()
    if nodes:
        node = nodes[0]
        raise MismatchError(
            f"wrong draw: {counts[node]} neighbours of node {node}, not {expected[node]}; "
            f"{len(nodes)} nodes have a wrong number of them"
        )
    return counts


def require_rows(rows: Tensor, all_rows: Tensor, nodes: Tensor, what: str) -> None:
    """Raise MismatchError unless the `rows` of a batch are its nodes' features or labels (`what`)."""
    require(rows.cpu().equal(all_rows[nodes].to(rows.dtype)), f"the {what} belong to other nodes")


def hops_of_list(count: int, *tensors: Tensor) -> list[Hop]:
    """Return both hops of a draw by PyG or torch_sparse, which list the hops together and renumber nodes.

    Each node is expanded only once: the second hop expands the nodes that are new at the first hop. `tensors`
    are the graph's index of each node [n], then source, target and entry of each drawn edge [m].
    """
    nodes, source, target, entry = map(to_int64, tensors)
    require(len(nodes.unique()) == len(nodes), "a node is numbered twice")
    is_first, seeds = target < count, nodes[:count]
    source, target = nodes[source], nodes[target]
    neighbours = len(without(source, seeds))
    require(len(nodes) == count + neighbours, "a node is neither a seed nor a neighbour")
    nodes_by_hop = seeds, without(source[is_first], seeds)
    return [
        Hop(source[part], target[part], entry[part], expanded)
        for part, expanded in zip((is_first, ~is_first), nodes_by_hop, strict=True)
    ]


def hops_of_blocks(seeds: Tensor, blocks: Sequence[Any]) -> list[Hop]:
    """Return the hops of a draw by DGL for int64 seeds; each hop expands all nodes of the previous one."""
    nodes, hops = seeds, list[Hop]()
    for block in reversed(blocks):
        sources, targets = to_int64(block.srcdata[dgl.NID]), to_int64(block.dstdata[dgl.NID])
        count = len(targets)
        require(targets.equal(nodes), "a block's targets are not the sources of the next block")
        require(sources[:count].equal(targets), "a block's sources do not begin with its targets")
        require(len(sources.unique()) == len(sources), "a node is numbered twice in a block")
        source, target = map(to_int64, block.edges())
        entry = to_int64(block.edata[dgl.EID])
        hops.append(Hop(sources[source], targets[target], entry, targets))
        nodes = sources
    return hops


def degrees(graph: Graph) -> Tensor:
    """Return the number of entries that end at each node: int64 [N]."""
    return graph.edge_index[1].bincount(minlength=graph.num_nodes)


def without(nodes: Tensor, others: Tensor) -> Tensor:
    """Return the distinct `nodes` that are not among the `others`, ascending."""
    distinct = nodes.unique()
    return distinct[~torch.isin(distinct, others)]


def to_int64(tensor: Tensor) -> Tensor:
    """Return node or entry indices as int64 on the CPU."""
    return tensor.detach().to("cpu", torch.int64)


def has_edges(graph: Graph, source: Tensor, target: Tensor) -> Tensor:
    """Return for each pair of nodes whether an edge leads from the first to the second: bool [m]."""
    sources, targets = graph.edge_index
    return torch.isin(source * graph.num_nodes + target, sources * graph.num_nodes + targets)
