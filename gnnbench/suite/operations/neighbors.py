"""Drawing neighbours of a batch of nodes, at two hops."""

from functools import partial
from typing import Any

from ..annotations import Case, Chosen, Graph, Tensor
from ..libraries import dgl, on_dgl, pyg_data, pyg_sampler, sampled, torch
from ..limits import HALF, refuses
from ..loading import quietly
from ..operation import FORWARD, Call, Kernel, Operation, operation
from .subgraph import random_nodes

FAN_OUTS = (15, 10)
"""Neighbours to draw per node at the first hop, and at the second."""
BATCH = 128
"""Number of nodes whose neighbours are drawn."""
GRAPHS = ("ogbn-arxiv:synthetic@0.1",)
"""Half of its nodes have more than 10 neighbours; on Cora, only 4 % of the nodes have."""

ON_CPU = refuses("it draws on the CPU only", "cuda")
INT64_ONLY = refuses("torch_sparse's samplers take int64 indices only", "int32")
_WEIGHTS = refuses("DGL takes no probabilities in half precision", HALF)


def seeds(graph: Graph) -> Tensor:
    """Return BATCH random nodes, in random order, the same each time."""
    return random_nodes(graph, BATCH)


def _pyg_sampler(case: Case, **options: Any) -> Any:
    data = pyg_data.Data(edge_index=case.edge_index(), num_nodes=case.graph.num_nodes)
    if "weight_attr" in options:
        data.w = case.edge_weight()
    elif "time_attr" in options:
        data.time = times(case.graph)
    return quietly(pyg_sampler.NeighborSampler, data, list(FAN_OUTS), **options)


def _pyg(batch: Chosen) -> Any:
    torch.default_generator.manual_seed(sampled.SEED)
    return batch.graph.sample_from_nodes(pyg_sampler.NodeSamplerInput(None, batch.nodes))


def _pyg_hops(output: Any, batch: Chosen) -> Any:
    # PyG sorts edges by target, like the graph's entries, and returns the permutation if it moved any.
    moved, entry = batch.graph.edge_permutation, output.edge
    entry = entry if moved is None else moved[entry]
    return sampled.hops_of_list(len(batch.nodes), output.node, output.row, output.col, entry)


def _sparse(batch: Chosen, *, replace: bool) -> Any:
    torch.default_generator.manual_seed(sampled.SEED)
    pointer, columns = batch.graph
    return torch.ops.torch_sparse.neighbor_sample(
        pointer, columns, batch.nodes, list(FAN_OUTS), replace, True
    )


def _dgl_weighted(case: Case) -> Any:
    graph = on_dgl.structure(case)
    graph.edata["w"] = case.edge_weight()
    return graph


def _dgl(batch: Chosen, prob: str | None = None, *, replace: bool = False) -> list[Any]:
    dgl.seed(sampled.SEED)
    nodes, parts = batch.nodes, []
    for fan_out in FAN_OUTS:
        part = dgl.sampling.sample_neighbors(batch.graph, nodes, fan_out, prob=prob, replace=replace)
        parts.append(part)
        nodes = torch.unique(part.edges()[0])
    return parts


def _dgl_hops(output: list[Any], batch: Chosen) -> Any:
    nodes, hops = sampled.to_int64(batch.nodes), []
    for part in output:
        source, target = map(sampled.to_int64, part.edges())
        hops.append(sampled.Hop(source, target, sampled.to_int64(part.edata[dgl.EID]), nodes))
        nodes = source.unique()
    return hops


def check(case: Case, kernel: Kernel, output: Any, batch: Chosen) -> tuple[Tensor, Tensor]:
    """Check a kernel's draw; return what is compared with `reference`. `kernel.result` returns the hops."""
    graph, name = case.graph, case.spec.operation
    if not kernel.result:
        return _trees(graph, output, batch, timed=name.endswith("_temporal"))
    hops: Any = kernel.result(output, batch)
    counts = [
        sampled.require_hop(graph, *pair, replace=name.endswith("_replaced"))
        for pair in zip(hops, FAN_OUTS, strict=True)
    ]
    nodes = hops[0].expanded
    return nodes.to(case.device), counts[0][nodes].to(case.device)


def reference(graph: Graph) -> tuple[Tensor, Tensor]:
    """Return the seeds, and the number of neighbours in any correct draw for each seed: int64 [n] each."""
    nodes = seeds(graph)
    return nodes, sampled.degrees(graph)[nodes].clamp(max=FAN_OUTS[0])


def times(graph: Graph) -> Tensor:
    """Return a random time of creation for each node: int64 [N]."""
    return random_nodes(graph, graph.num_nodes)


def _trees(graph: Graph, output: Any, batch: Chosen, *, timed: bool) -> tuple[Tensor, Tensor]:
    """Check a draw that is made for each seed alone; return what is compared with `reference`.

    If `timed`, no neighbour may be younger than the seed.
    """
    permutation, tree, count = batch.graph.edge_permutation, output.batch, len(batch.nodes)
    entry = output.edge if permutation is None else permutation[output.edge]
    (source, target), row, col = graph.edge_index, output.row, output.col
    same = graph.edge_index[:, entry].equal(output.node[torch.stack((row, col))])
    sampled.require(same and tree[row].equal(tree[col]), "nodes or entries are numbered wrongly")
    sampled.require(len((tree[col] * graph.num_edges + entry).unique()) == len(entry), "an edge came twice")
    hop, time = torch.full_like(tree, 2), times(graph) if timed else torch.zeros(graph.num_nodes)
    hop[row[col < count]] = 1
    hop[:count] = 0
    expected = torch.zeros_like(tree)
    for number, seed in enumerate(batch.nodes):
        degree = target[time[source] <= time[seed]].bincount(minlength=graph.num_nodes)
        members = tree == number
        expected[members] = degree[output.node[members]].minimum(torch.tensor((*FAN_OUTS, 0))[hop[members]])
    counts = col.bincount(minlength=len(tree))
    sampled.require(counts.equal(expected), "a node has too few neighbours or too many")
    sampled.require(bool((time[output.node] <= time[batch.nodes][tree]).all()), "a node is too young")
    return batch.nodes, counts[:count]


def temporal_reference(graph: Graph) -> tuple[Tensor, Tensor]:
    """Return the `reference` for neighbours that are not younger than their seed."""
    (source, target), time, nodes = graph.edge_index, times(graph), seeds(graph)
    counts = target[time[source] <= time[target]].bincount(minlength=graph.num_nodes)
    return nodes, counts[nodes].clamp(max=FAN_OUTS[0])


def replaced_reference(graph: Graph) -> tuple[Tensor, Tensor]:
    """Return the `reference` with replacement: the whole fan-out for each seed that has neighbours."""
    nodes, counts = reference(graph)
    return nodes, FAN_OUTS[0] * counts.clamp(max=1)


_draw = partial(Call, nodes=seeds)
by_pyg = partial(Call, limits=(INT64_ONLY, ON_CPU), one_of=("torch_sparse",))
"""Makes a call of PyG's samplers."""


def _with_pyg_lib(result: Any = None, **options: Any) -> Call:
    text = f"NeighborSampler([15, 10], {', '.join(f'{key}={value!r}' for key, value in options.items())})"
    return _draw(text, _pyg, (INT64_ONLY, ON_CPU), partial(_pyg_sampler, **options), result)


sampling = partial(
    operation,
    directions=(FORWARD,),
    reference=reference,
    reads_all=False,
    group="sampling",
    graphs=GRAPHS,
)
"""Makes an operation of the group `sampling`."""


def _uniform(*, replace: bool, **more: Any) -> Operation:
    """Return the operation of uniform sampling, with replacement or without."""
    text = "(replace=True)" if replace else ""
    return sampling(
        f"sample_neighbors{'_replaced' if replace else ''}",
        pyg=by_pyg(
            f"NeighborSampler([15, 10]{', replace=True' if replace else ''})",
            _pyg,
            build=partial(_pyg_sampler, replace=replace),
            result=_pyg_hops,
            nodes=seeds,
        ),
        sparse=_draw(
            f"torch.ops.torch_sparse.neighbor_sample{text}",
            partial(_sparse, replace=replace),
            (ON_CPU,),
            lambda case: case.csr()[:2],
            lambda output, batch: sampled.hops_of_list(len(batch.nodes), *output),
        ),
        dgl=_draw(
            f"dgl.sampling.sample_neighbors{text}, twice", partial(_dgl, replace=replace), result=_dgl_hops
        ),
        with_pyg_lib=True,
        **more,
    )


OPERATIONS = (
    _uniform(replace=False, example=True),
    _uniform(replace=True, reference=replaced_reference, default=False),
    sampling(
        "sample_neighbors_weighted",
        dgl=_draw(
            "sample_neighbors(prob=...), twice",
            partial(_dgl, prob="w"),
            (_WEIGHTS,),
            _dgl_weighted,
            _dgl_hops,
        ),
        pyg_lib=_with_pyg_lib(_pyg_hops, weight_attr="w"),
        pyg="NeighborSampler and NeighborLoader draw with weights (weight_attr) through pyg-lib only",
        sparse="torch_sparse.neighbor_sample takes no weights: see sample_neighbors",
    ),
    *(
        sampling(
            f"sample_neighbors_{name}",
            pyg_lib=_with_pyg_lib(**options),
            pyg="NeighborSampler draws like this through pyg-lib only",
            reference=expected,
            default=False,
        )
        for name, options, expected in (
            ("disjoint", {"disjoint": True}, reference),
            ("temporal", {"time_attr": "time"}, temporal_reference),
        )
    ),
)
