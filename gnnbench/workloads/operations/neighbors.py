"""Drawing neighbours of a batch of nodes, at two hops; the least work depends on what is drawn."""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..limits import Limit
from ..operation import Call, Kernel, Operation
from ..spec import FORWARD
from .subgraph import drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

    from ..case import Case
    from ..graphs.graph import Graph

FAN_OUTS = (15, 10)
"""Neighbours to draw of each node at the first hop, and at the second."""
BATCH = 128
"""Nodes whose neighbours are drawn."""
GRAPHS = ("ogbn-arxiv:synthetic@0.1",)
"""Half of its nodes have more than 10 neighbours, and 4 % of Cora's."""

ON_CPU = Limit("it draws on the CPU only", frozenset({"cuda"}))
INT64_ONLY = Limit("torch_sparse's samplers take int64 only", frozenset({"int32"}))
_WEIGHTS = Limit("DGL takes no probabilities in bfloat16", frozenset({"bfloat16"}))


class Batch(NamedTuple):
    """A graph and some of its nodes."""

    graph: Any
    """A sampler, row pointer and columns, a DGLGraph, or a sampler and a DGLGraph."""
    seeds: "Tensor"
    """The nodes whose neighbours are drawn: int64 or int32 [n]."""


def seeds(graph: "Graph") -> "Tensor":
    """Return BATCH random nodes, in random order, the same each time."""
    return drawn(graph, BATCH)


def batch_of(case: "Case", graph: Any) -> Batch:
    """Return a platform's graph with `seeds`."""
    return Batch(graph, seeds(case.graph).to(case.device, case.index_dtype))


def _pyg() -> Kernel:
    import warnings

    import torch
    from torch_geometric import sampler
    from torch_geometric.data import Data

    from .. import sampled

    def build(case: "Case") -> Batch:
        data = Data(edge_index=case.edge_index(), num_nodes=case.graph.num_nodes)
        with warnings.catch_warnings():  # that pyg-lib is faster
            warnings.simplefilter("ignore")
            return batch_of(case, sampler.NeighborSampler(data, list(FAN_OUTS)))

    def run(batch: Batch) -> Any:
        torch.default_generator.manual_seed(sampled.SEED)
        return batch.graph.sample_from_nodes(sampler.NodeSamplerInput(None, batch.seeds))

    def result(output: Any, batch: Batch) -> Any:
        # PyG sorts edges by target, as the graph's entries are, and says which it moved.
        moved, entry = batch.graph.edge_permutation, output.edge
        entry = entry if moved is None else moved[entry]
        return renumbered(len(batch.seeds), output.node, output.row, output.col, entry)

    return Kernel(build, run, result)


def _sparse() -> Kernel:
    import torch
    import torch_sparse  # noqa: F401 - registers its operators

    from .. import sampled

    def run(batch: Batch) -> Any:
        torch.default_generator.manual_seed(sampled.SEED)
        pointer, columns = batch.graph
        return torch.ops.torch_sparse.neighbor_sample(
            pointer, columns, batch.seeds, list(FAN_OUTS), False, True
        )

    def result(output: "tuple[Tensor, ...]", batch: Batch) -> Any:
        return renumbered(len(batch.seeds), *output)

    return Kernel(lambda case: batch_of(case, case.csr()[:2]), run, result)


def _dgl(*, weighted: bool) -> Kernel:
    import torch

    from .. import sampled
    from ..platforms.dgl import dgl, structure

    def build(case: "Case") -> Batch:
        graph = structure(case)
        if weighted:
            graph.edata["w"] = case.edge_weight()
        return batch_of(case, graph)

    def run(batch: Batch) -> "list[Any]":
        dgl.seed(sampled.SEED)
        nodes, parts = batch.seeds, []
        for fan_out in FAN_OUTS:
            part = dgl.sampling.sample_neighbors(batch.graph, nodes, fan_out, prob="w" if weighted else None)
            parts.append(part)
            nodes = torch.unique(part.edges()[0])
        return parts

    def result(output: "list[Any]", batch: Batch) -> Any:
        from ..sampled import Hop, whole

        nodes, hops = whole(batch.seeds), []
        for part in output:
            source, target = map(whole, part.edges())
            hops.append(Hop(source, target, whole(part.edata[dgl.EID]), nodes))
            nodes = source.unique()
        return hops

    return Kernel(build, run, result)


def renumbered(count: int, *found: "Tensor") -> Any:
    """Return each `Hop` of PyG and torch_sparse, which list both together and number the nodes anew.

    They draw neighbours of each node once: at the second hop of those that the first one reached.

    Args:
        count: the number of seeds, which are the first nodes.
        found: the nodes by their new numbers [n]; sources, targets and entries [m].
    """
    from ..sampled import Hop, require, whole, without

    nodes, source, target, entry = map(whole, found)
    require(len(nodes.unique()) == len(nodes), "a node has two numbers")
    first, seeds = target < count, nodes[:count]
    source, target = nodes[source], nodes[target]
    require(len(nodes) == count + len(without(source, seeds)), "a node is neither a seed nor a neighbour")
    expanded = seeds, without(source[first], seeds)
    return [
        Hop(source[part], target[part], entry[part], nodes)
        for part, nodes in zip((first, ~first), expanded, strict=True)
    ]


def checked(case: "Case", kernel: Kernel) -> "Callable[[Any, Batch], tuple[Tensor, ...]]":
    """Return a function that checks what a kernel drew, and returns of it what `reference` returns.

    The kernel's own `result` returns each `Hop`. The function raises MismatchError: see `require_hop`.
    """

    def result(output: Any, batch: Batch) -> "tuple[Tensor, ...]":
        from ..sampled import require_hop

        assert kernel.result
        hops: Any = kernel.result(output, batch)
        counts = [require_hop(case.graph, *pair) for pair in zip(hops, FAN_OUTS, strict=True)]
        nodes = hops[0].expanded
        return nodes.to(case.device), counts[0][nodes].to(case.device)

    return result


def reference(graph: "Graph") -> "tuple[Tensor, Tensor]":
    """Return what each draw has in common: the seeds, and how many neighbours of each are drawn, [n] each."""
    from ..sampled import degrees

    nodes = seeds(graph)
    return nodes, degrees(graph)[nodes].clamp(max=FAN_OUTS[0])


def sampling(
    name: str,
    calls: "Mapping[str, Call]",
    absent: "Mapping[str, str]",
    reference: "Callable[..., Tensor | tuple[Tensor, ...]]" = reference,
    *,
    example: bool = False,
    default: bool = True,
    graphs: tuple[str, ...] = GRAPHS,
    batches: int | None = None,
) -> Operation:
    """Return an operation of this group; plain PyTorch has none of them."""
    return Operation(
        name,
        calls,
        {"torch": "plain PyTorch draws no parts of graphs", **absent},
        directions=(FORWARD,),
        example=example,
        default=default,
        reference=reference,
        group="sampling",
        graphs=graphs,
        batches=batches,
    )


OPERATIONS = (
    sampling(
        "sample_neighbors",
        {
            "pyg": Call(
                "NeighborSampler([15, 10])", _pyg, (INT64_ONLY, ON_CPU), one_of=("pyg_lib", "torch_sparse")
            ),
            "sparse": Call("torch.ops.torch_sparse.neighbor_sample", _sparse, (INT64_ONLY, ON_CPU)),
            "dgl": Call("dgl.sampling.sample_neighbors, twice", partial(_dgl, weighted=False)),
        },
        {},
        example=True,
    ),
    sampling(
        "sample_neighbors_weighted",
        {"dgl": Call("sample_neighbors(prob=...), twice", partial(_dgl, weighted=True), (_WEIGHTS,))},
        {
            "pyg": "NeighborSampler and NeighborLoader draw with weights (weight_attr) through pyg-lib only",
            "sparse": "torch_sparse.neighbor_sample takes no weights: see sample_neighbors",
        },
    ),
)
