"""Kernels that are wrong in a way that only chosen inputs, or a check of what was drawn, can find."""

import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch_geometric import utils
from torch_geometric.data import Batch
from torch_geometric.nn import SumAggregation

from gnnbench.workloads.operations import OPERATIONS
from gnnbench.workloads.operations.subgraph import HOPS
from gnnbench.workloads.spec import FORWARD_BACKWARD
from tests.workloads.cells import workload_of

MISMATCH = "wrong|shape|positions"
FOUND = []
"""Operation, platform, direction, dtype, what is wrong, and the message."""


def found(operations, platforms, mutants, message=MISMATCH, *, direction=None, dtypes=("float32",)):
    """Add mutants of operations; each takes the right function and its inputs."""
    FOUND.extend(
        pytest.param(
            *(operation, platform, direction or OPERATIONS[operation].directions[0], dtype, mutant, message),
            id=f"{operation}, {platform}, {dtype}, {what}",
        )
        for operation in operations.split()
        for platform in platforms.split()
        for dtype in dtypes
        for what, mutant in mutants.items()
    )


def of(change):
    """Return a mutant that changes the right result."""
    return lambda run, *inputs: change(run(*inputs))


def without_maximum(_, graph, score):
    target = graph.edge_index[1]
    exponential = score.exp()
    return exponential / torch.zeros(60, score.size(1)).index_add(0, target, exponential)[target]


found(
    "sddmm",
    "pyg",
    {
        "ends exchanged": lambda run, edges, x, y: run(edges, y, x),
        "one end's features for both": lambda run, edges, x, _: run(edges, x, x),
    },
)
found(
    "edge_softmax",
    "pyg",
    {
        "maximum not subtracted": without_maximum,
        "by source": lambda _, graph, score: utils.softmax(score, graph.edge_index[0]),
    },
)


def with_attribute(name, value):
    def wrong(run, graph, layer, x):
        setattr(layer, name, value)
        return run(graph, layer, x)

    return wrong


def ends_exchanged(_, graph, layer, x):
    """Take the parameter of one end for that of the other."""
    one, other = ("att_src", "att_dst") if hasattr(layer, "att_src") else ("lin_l.weight", "lin_r.weight")
    names = {one: layer.get_parameter(other), other: layer.get_parameter(one)}
    return functional_call(layer, names, (x, graph))


def no_attention(_, graph, layer, x):
    """Weigh all neighbours alike."""
    zeros = {name: one * 0 for name, one in layer.named_parameters() if name.startswith("att")}
    return functional_call(layer, zeros, (x, graph))


found(
    "gat_conv gatv2_conv",
    "pyg",
    {
        "no self-loops": with_attribute("add_self_loops", False),
        "another slope": with_attribute("negative_slope", 0.19),
        "ReLU": with_attribute("negative_slope", 0.0),
        "ends exchanged": ends_exchanged,
        "no attention": no_attention,
    },
)


def of_layer(change):
    """Return a mutant that changes a copy of the layer."""

    def wrong(run, edge_index, layer, x):
        layer = copy.deepcopy(layer)
        change(layer)
        return run(edge_index, layer, x)

    return wrong


def swap(one, other):
    one.weight.data, other.weight.data = other.weight.data, one.weight.data


def of_messages(message):
    def wrong(_, edge_index, x, weight):
        source, target = edge_index
        return torch.zeros_like(x).index_add(0, target, message(x[source], x[target], weight.unsqueeze(1)))

    return wrong


for operation, platform, mutants in (
    (
        "sage_conv",
        "pyg",
        {
            "neighbours' weights for a node itself": of_layer(lambda layer: swap(layer.lin_l, layer.lin_r)),
            "sums for means": of_layer(lambda layer: setattr(layer, "aggr_module", SumAggregation())),
        },
    ),
    (
        "gin_conv",
        "pyg",
        {
            "no epsilon": of_layer(lambda layer: layer.eps.data.zero_()),
            "no ReLU": of_layer(lambda layer: layer.nn.__setitem__(1, nn.Identity())),
        },
    ),
    (
        "transformer_conv",
        "pyg",
        {
            "keys for queries": of_layer(lambda layer: swap(layer.lin_key, layer.lin_query)),
            "one head": of_layer(lambda layer: vars(layer).update(heads=1, out_channels=64)),
            "scores that are not divided": of_layer(lambda layer: layer.lin_query.weight.data.mul_(8**0.5)),
            "no skip": of_layer(lambda layer: setattr(layer, "root_weight", False)),
        },
    ),
    (
        "message_passing",
        "torch",
        {
            "ends swapped": of_messages(lambda start, end, weight: weight * (end - start).relu()),
            "no ReLU": of_messages(lambda start, end, weight: weight * (start - end)),
        },
    ),
):
    found(operation, platform, mutants, "output is wrong", dtypes=("float32", "bfloat16"))

found(
    "group_argsort",
    "pyg",
    {
        "a permutation": of(lambda ranks: ranks.argsort()),
        "descending": lambda run, to, values: to.indices.bincount()[to.indices] - 1 - run(to, values),
        "equal values in another order": lambda run, to, values: run(
            to._replace(indices=to.indices.flip(0)), values.flip(0)
        ).flip(0),
    },
)
found("degree", "torch", {"one more": of(lambda degree: degree + (torch.arange(60) == 3))})
found(
    "metis_partition",
    "dgl",
    {
        "at random": of(lambda parts: torch.arange(len(parts)) % 8),
        "one part": of(torch.zeros_like),
        "a large part": of(lambda parts: parts.where(parts > 2, 2)),
        "without a node": of(lambda parts: parts[1:]),
    },
)


def jump(walks):
    walks = walks.clone()
    walks[3, 4] = 59  # which has no neighbour
    return walks


def end_early(walks):
    return torch.cat((walks[:, :-1], torch.full_like(walks[:, :1], -1)), 1)


found(
    "random_walk",
    "dgl",
    {
        "another start": of(lambda walks: walks.flip(0)),
        "a step that is no edge": of(jump),
        "a walk that ends early": of(end_early),
        "too short": of(lambda walks: walks[:, :-1]),
    },
)


def with_pair(one, other):
    return of(lambda pairs: torch.cat((pairs[:, 1:], torch.tensor([[one], [other]])), 1))


found(
    "negative_sampling",
    "pyg",
    {
        "edges": lambda run, given: torch.cat((run(given)[:, 1:], given[0].edge_index[:, :1]), 1),
        "a loop": with_pair(4, 4),
        "a pair twice": of(lambda pairs: torch.cat((pairs[:, 1:], pairs[:, 1:2]), 1)),
        "too few": of(lambda pairs: pairs[:, 1:]),
        "another node": with_pair(4, 60),
    },
)


def of_first_batch(**parts):
    """Return a mutant that changes parts of the first batch; each is made of the batch."""

    def wrong(run, loading):
        first, *others = run(loading)
        batch = first.clone()
        for name, make in parts.items():
            batch[name] = make(first)
        return [batch, *others]

    return wrong


for message, mutant in {
    "features": of_first_batch(x=lambda batch: batch.x.roll(1, 0)),
    "labels": of_first_batch(y=lambda batch: batch.y + 1),
    "numbered wrongly": of_first_batch(e_id=lambda batch: batch.e_id.roll(1)),
    "neither a seed": of_first_batch(
        e_id=lambda batch: batch.e_id[1:], edge_index=lambda batch: batch.edge_index[:, 1:]
    ),
    "shape": of(lambda batches: batches[1:]),
}.items():
    found("neighbor_loader_0_workers", "pyg", {message: mutant}, message)


def of_edges(**parts):
    """Return a mutant that changes parts of a structure; each is made of the structure."""

    def wrong(run, edges, *inputs):
        return run(edges._replace(**{name: make(edges) for name, make in parts.items()}), *inputs)

    return wrong


REVERSES = torch.tensor([0, 2, 1, 4, 3, 6, 5, 7])
"""Of the relations of the graph that tests share."""


def over_all_relations(edges):
    return edges.graph.in_degrees()[edges.graph.edges()[1]].float().reciprocal().unsqueeze(1)


def with_a_relation_backwards(typed):
    extends = list(typed.graph)[1]
    return {**typed.graph, extends: typed.graph[extends].flip(0)}


def with_two_relations_exchanged(typed):
    cites, extends = list(typed.graph)[:2]
    return {**typed.graph, cites: typed.graph[extends], extends: typed.graph[cites]}


def with_one_relation_fewer(typed):
    from gnnbench.workloads.platforms.dgl import dgl

    kept = [relation for relation in typed.graph.canonical_etypes if relation[1] != "extends"]
    return dgl.edge_type_subgraph(typed.graph, kept)


with_the_reverse_relations = of_edges(edge_type=lambda edges: REVERSES[edges.edge_type])
found(
    "rgcn_conv rgcn_conv_fast",
    "pyg",
    {
        "the reverse relations": with_the_reverse_relations,
        "relations as one": of_edges(edge_type=lambda edges: torch.zeros_like(edges.edge_type)),
    },
)
found(
    "rgcn_conv",
    "dgl",
    {
        "the reverse relations": with_the_reverse_relations,
        "sums": of_edges(norm=lambda edges: torch.ones_like(edges.norm)),
        "means over all relations": of_edges(norm=over_all_relations),
    },
)
found(
    "hetero_conv",
    "pyg",
    {
        "a relation backwards": of_edges(graph=with_a_relation_backwards),
        "two relations exchanged": of_edges(graph=with_two_relations_exchanged),
        "types in another order": of_edges(sizes=lambda typed: dict(reversed(typed.sizes.items()))),
    },
)
found(
    "hetero_update_all hetero_multi_update_all",
    "dgl",
    {"without a relation": of_edges(graph=with_one_relation_fewer)},
)


def not_renumbered(_, graphs):
    joined = Batch.from_data_list(graphs)
    joined.edge_index = torch.cat([graph.edge_index for graph in graphs], dim=1)
    return joined


def ends_swapped(_, graphs):
    """Exchange sources and targets: each entry has another number."""
    joined = Batch.from_data_list(graphs)
    joined.edge_index = joined.edge_index.flip(0)
    return joined


def without_scores(_, graphs, pool, x):
    _, _, _, _, kept, _ = pool(x, graphs.edge_index, batch=graphs.member)
    return x[kept]


for operation, mutants in {
    "batch": {
        "another order": lambda run, graphs: run(graphs[::-1]),
        "nodes not renumbered": not_renumbered,
        "ends swapped": ends_swapped,
    },
    "topk_pool": {"no scores": without_scores},
    "sort_pool": {"not sorted": lambda _, g, x: utils.to_dense_batch(x, g.member)[0][:, :8].flatten(1)},
    "to_dense_batch": {"ones": lambda _, g, x: utils.to_dense_batch(x, g.member, fill_value=1)[0]},
}.items():
    found(operation, "pyg", mutants)


def with_optimizer(change):
    def wrong(run, *inputs):
        change(next(one for one in inputs if isinstance(one, torch.optim.Optimizer)))
        return run(*inputs)

    return wrong


found(
    "epoch_gin epoch_sage_batches epoch_link",
    "pyg dgl",
    {
        "no steps": with_optimizer(lambda optimizer: setattr(optimizer, "step", lambda: None)),
        "another rate": with_optimizer(lambda optimizer: optimizer.param_groups[0].update(lr=0.011)),
        "a weight does not learn": with_optimizer(
            lambda optimizer: optimizer.param_groups[0]["params"][0].requires_grad_(requires_grad=False)
        ),
    },
)
found("epoch_gin", "pyg dgl", {"a graph less": lambda run, graphs, *rest: run(graphs[:-1], *rest)})


def doubled(_, edges, weight):
    return utils.sort_edge_index(edges.edge_index, 2 * weight - weight.detach(), edges.num_nodes)


def one_end(_, chosen, weight):
    """Keep edges whose source alone is chosen."""
    kept = torch.isin(chosen.graph.edge_index[0], chosen.nodes)
    return chosen.graph.edge_index[:, kept] % len(chosen.nodes), weight[kept]


def k_hop(hops=HOPS, **options):
    def wrong(_, chosen):
        given = {"num_nodes": chosen.graph.num_nodes, "relabel_nodes": True, **options}
        return utils.k_hop_subgraph(chosen.nodes, hops, chosen.graph.edge_index, **given)

    return wrong


for operation, mutants in {
    "coalesce": {
        "duplicates kept": lambda _, e, w: utils.sort_edge_index(e.edge_index, w, e.num_nodes),
        "mean": lambda _, e, w: utils.coalesce(e.edge_index, w, e.num_nodes, "mean"),
        "by target": lambda _, e, w: utils.coalesce(e.edge_index, w, e.num_nodes, sort_by_row=False),
    },
    "sort_edge_index": {
        "by target": lambda _, e, w: utils.sort_edge_index(e.edge_index, w, e.num_nodes, sort_by_row=False),
        "weights as they were": lambda _, e, w: (utils.sort_edge_index(e.edge_index, num_nodes=60), w),
    },
    "edge_index_sort_by": {
        "column instead of row": lambda _, index: index.sort_by("col"),
        "another order": lambda run, index: run(index)._replace(indices=torch.arange(index.size(1))),
    },
    "to_undirected": {
        "one direction": lambda _, e: e.edge_index,
        "not sorted": lambda _, e: torch.cat((e.edge_index, e.edge_index.flip(0)), dim=1),
    },
    "to_csr": {"transposed": lambda _, e, w: utils.to_torch_csr_tensor(e.edge_index.flip(0), w, 60)},
    "to_csc": {
        "sorted weights": lambda _, e, w: utils.to_torch_csc_tensor(e.edge_index, w.sort().values, 60)
    },
    "subgraph": {
        "old numbers": lambda _, c, w: utils.subgraph(c.nodes, c.graph.edge_index, w, num_nodes=60),
        "one end chosen": one_end,
    },
    "k_hop_subgraph": {
        "one hop": k_hop(1),
        "against the edges": k_hop(flow="target_to_source"),
        "only edges on the way": k_hop(directed=True),
        "old numbers": k_hop(relabel_nodes=False),
    },
    "index_select": {"ascending": lambda _, nodes, x: x[nodes.sort().values]},
}.items():
    found(operation, "pyg", mutants)
found("sort_edge_index", "pyg", {"gradients doubled": doubled}, direction=FORWARD_BACKWARD)


@pytest.mark.parametrize(("operation", "platform", "direction", "dtype", "mutant", "message"), FOUND)
def test_it_is_found(make_case, directed_graph, operation, platform, direction, dtype, mutant, message):
    graph = directed_graph if OPERATIONS[operation].group == "structure" else None
    case = make_case(operation, platform, direction, dtype, hidden=64, graph=graph)
    workload_of(case).must_be_found_wrong(mutant, message)
