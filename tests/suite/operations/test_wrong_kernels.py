"""Kernels that are wrong in a way that only chosen inputs, or a check of what was drawn, can find."""

import copy

import pytest
import torch
from torch import nn
from torch_geometric import utils
from torch_geometric.nn import SumAggregation

from gnnbench.suite.operations import OPERATIONS
from gnnbench.suite.operations.gat_conv import gat_parameters, gatv2_parameters
from gnnbench.suite.operations.subgraph import HOPS
from gnnbench.suite.spec import FORWARD_BACKWARD
from tests.suite.cells import workload_of

REVERSES = torch.tensor([0, 2, 1, 4, 3, 6, 5, 7])
"""Of the relations of the graph that tests share."""


def of(change):
    """Return a mutant that changes the right result."""
    return lambda run, *inputs: change(run(*inputs))


def without_maximum(_, graph, score):
    target = graph.edge_index[1]
    exponential = score.exp()
    return exponential / torch.zeros(60, score.size(1)).index_add(0, target, exponential)[target]


def of_layer(change):
    """Return a mutant that changes a copy of the layer."""

    def wrong(run, graph, layer, x):
        layer = copy.deepcopy(layer)
        change(layer)
        return run(graph, layer, x)

    return wrong


def swapped(one, other):
    def change(layer):
        first, second = layer.get_parameter(one), layer.get_parameter(other)
        first.data, second.data = second.data, first.data

    return of_layer(change)


def scaled_gradient(name, factor):
    """Return a mutant that scales the gradient of a parameter of the layer or the model."""

    def wrong(run, *inputs):
        module = next(one for one in inputs if isinstance(one, nn.Module))
        module.get_parameter(name).register_hook(lambda gradient: gradient * factor)
        return run(*inputs)

    return wrong


def of_weights(change):
    """Return a mutant that changes the gradient of the weights."""

    def wrong(run, graph, weight):
        changed = weight.clone()
        changed.register_hook(change)
        return run(graph, changed)

    return wrong


def ends_swapped(_, edge_index, x, weight):
    source, target = edge_index
    return torch.zeros_like(x).index_add(0, target, weight.unsqueeze(1) * (x[target] - x[source]).relu())


def with_pair(one, other):
    return of(lambda pairs: torch.cat((pairs[:, 1:], torch.tensor([[one], [other]])), 1))


def of_first_batch(change):
    """Return a mutant that changes a copy of the first batch."""

    def wrong(run, loading):
        first, *others = run(loading)
        batch = first.clone()
        change(batch)
        return [batch, *others]

    return wrong


def with_parts(**parts):
    """Return a mutant that changes parts of the first batch; each is made of the batch."""
    return of_first_batch(lambda batch: batch.update({name: make(batch) for name, make in parts.items()}))


def without_an_edge(batch):
    cites = batch["paper", "cites", "paper"]
    cites.edge_index, cites.e_id = cites.edge_index[:, 1:], cites.e_id[1:]


def with_other(kind, name):
    """Return a change of a field: its rows by turns."""
    return lambda batch: setattr(batch[kind], name, batch[kind][name].roll(1, 0))


def of_edges(**parts):
    """Return a mutant that changes parts of a structure; each is made of the structure."""

    def wrong(run, edges, *inputs):
        return run(edges._replace(**{name: make(edges) for name, make in parts.items()}), *inputs)

    return wrong


def with_a_relation_backwards(typed):
    extends = list(typed.graph)[1]
    return {**typed.graph, extends: typed.graph[extends].flip(0)}


def with_optimizer(change):
    def wrong(run, *inputs):
        change(next(one for one in inputs if isinstance(one, torch.optim.Optimizer)))
        return run(*inputs)

    return wrong


def does_not_learn(optimizer):
    optimizer.param_groups[0]["params"][0].requires_grad_(requires_grad=False)


no_steps = with_optimizer(lambda optimizer: setattr(optimizer, "step", lambda: None))


def k_hop(**options):
    def wrong(_, chosen):
        options.update(num_nodes=chosen.graph.num_nodes, relabel_nodes=True)
        return utils.k_hop_subgraph(chosen.nodes, HOPS, chosen.graph.edge_index, **options)

    return wrong


OF_PYG = [
    ("sddmm", "ends exchanged", lambda run, edges, x, y: run(edges, y, x)),
    ("edge_softmax", "maximum not subtracted", without_maximum),
    ("edge_softmax", "by source", lambda _, graph, score: utils.softmax(score, graph.edge_index[0])),
    ("gat_conv gatv2_conv", "no self-loops", of_layer(lambda layer: setattr(layer, "add_self_loops", False))),
    ("gat_conv gatv2_conv", "another slope", of_layer(lambda layer: setattr(layer, "negative_slope", 0.19))),
    ("gat_conv", "ends exchanged", swapped("att_src", "att_dst")),
    ("sage_conv", "neighbours' weights for a node itself", swapped("lin_l.weight", "lin_r.weight")),
    ("sage_conv", "sums for means", of_layer(lambda layer: setattr(layer, "aggr_module", SumAggregation()))),
    ("gin_conv", "no epsilon", of_layer(lambda layer: layer.eps.data.zero_())),
    ("gin_conv", "no ReLU", of_layer(lambda layer: layer.nn.__setitem__(1, nn.Identity()))),
    ("transformer_conv", "keys for queries", swapped("lin_key.weight", "lin_query.weight")),
    ("transformer_conv", "one head", of_layer(lambda layer: vars(layer).update(heads=1, out_channels=64))),
    ("group_argsort", "a permutation", of(lambda ranks: ranks.argsort())),
    ("negative_sampling", "a loop", with_pair(4, 4)),
    ("negative_sampling", "another node", with_pair(4, 60)),
    ("negative_sampling", "a pair twice", of(lambda pairs: torch.cat((pairs[:, 1:], pairs[:, 1:2]), 1))),
    ("rgcn_conv", "the reverse relations", of_edges(edge_type=lambda edges: REVERSES[edges.edge_type])),
    ("hetero_conv", "a relation backwards", of_edges(graph=with_a_relation_backwards)),
    ("hetero_conv", "types reversed", of_edges(sizes=lambda typed: dict(reversed(typed.sizes.items())))),
    ("sort_pool", "not sorted", lambda _, g, x: utils.to_dense_batch(x, g.member)[0][:, :8].flatten(1)),
    ("coalesce", "mean", lambda _, e, w: utils.coalesce(e.edge_index, w, e.num_nodes, "mean")),
    ("sort_edge_index", "its weights", lambda _, e, w: (utils.sort_edge_index(e.edge_index), w)),
    ("edge_index_sort_by", "column instead of row", lambda _, index: index.sort_by("col")),
    ("to_csr", "transposed", lambda _, e, w: utils.to_torch_csr_tensor(e.edge_index.flip(0), w, 60)),
    ("to_csc", "weights", lambda _, e, w: utils.to_torch_csc_tensor(e.edge_index, w.sort().values, 60)),
    ("subgraph", "old numbers", lambda _, c, w: utils.subgraph(c.nodes, c.graph.edge_index, w, num_nodes=60)),
    ("k_hop_subgraph", "against the edges", k_hop(flow="target_to_source")),
    ("k_hop_subgraph", "only edges on the way", k_hop(directed=True)),
    ("index_select", "ascending", lambda _, nodes, x: x[nodes.sort().values]),
    ("epoch_gin epoch_sage_batches", "no steps", no_steps),
]
OF_DGL = [
    ("random_walk", "another start", of(lambda walks: walks.flip(0))),
    ("random_walk", "a step that is no edge", of(lambda walks: walks.index_fill(1, torch.tensor([4]), 59))),
    ("rgcn_conv", "sums", of_edges(norm=lambda edges: torch.ones_like(edges.norm))),
    ("epoch_gin epoch_sage_batches", "a weight does not learn", with_optimizer(does_not_learn)),
    ("epoch_gin", "a graph less", lambda run, graphs, *rest: run(graphs[:-1], *rest)),
]
OF_TORCH = [
    ("message_passing", "ends swapped", ends_swapped),
]
NODES = {
    "features": with_parts(x=lambda batch: batch.x.roll(1, 0)),
    "labels": with_parts(y=lambda batch: batch.y + 1),
    "numbered wrongly": with_parts(e_id=lambda batch: batch.e_id.roll(1)),
    "neither a seed": with_parts(
        e_id=lambda batch: batch.e_id[1:], edge_index=lambda batch: batch.edge_index[:, 1:]
    ),
    "shape": of(lambda batches: batches[1:]),
}
LINKS = {
    "features": NODES["features"],
    "numbered wrongly": NODES["numbered wrongly"],
    "labelled as if": with_parts(edge_label=lambda batch: 1 - batch.edge_label),
    "not among the loader's": with_parts(edge_label_index=lambda batch: batch.edge_label_index.flip(1)),
    "comes twice": with_parts(
        edge_label_index=lambda batch: torch.cat((batch.edge_label_index[:, :1], batch.edge_label_index), 1)[
            :, :-1
        ]
    ),
}
CITES = ("paper", "cites", "paper")
LOADERS = [
    *(("neighbor_loader", message, mutant) for message, mutant in NODES.items()),
    *(("link_loader", message, mutant) for message, mutant in LINKS.items()),
    ("hetero_loader hgt_loader", "features", of_first_batch(with_other("author", "x"))),
    ("hetero_loader hgt_loader", "labels", of_first_batch(with_other("paper", "y"))),
    ("hetero_loader hgt_loader", "seed|neighbour|edge|entr", of_first_batch(with_other("paper", "n_id"))),
    ("hetero_loader", "numbered wrongly", of_first_batch(with_other(CITES, "e_id"))),
    ("hetero_loader", "neighbours of node|neither a seed", of_first_batch(without_an_edge)),
    ("hgt_loader", "the ends of its entry", of_first_batch(with_other(CITES, "e_id"))),
    ("hgt_loader", "not all those", of_first_batch(without_an_edge)),
]
"""Loaders, what is said of their batches, and the mutant."""
GRADIENT = "gradient of input tensor"
GRADIENTS = [
    ("sort_edge_index", "pyg", of_weights(lambda gradient: 2 * gradient), GRADIENT),
    ("add_remaining_self_loops", "pyg", of_weights(lambda g: g.flip(0)), f"{GRADIENT} 0 is wrong"),
    ("update_all_u_mul_e_sum", "dgl", lambda run, g, x, w: run(g, x, w.detach()), f"{GRADIENT} 1 is missing"),
    ("conv_cached", "pyg", scaled_gradient("lin.weight", 1.001), f"{GRADIENT} 0 is wrong"),
    ("conv_cached", "torch", scaled_gradient("weight", 1.001), f"{GRADIENT} 0 is wrong"),
    *(("gat_conv", "pyg", scaled_gradient(name, 1.001), GRADIENT) for name in gat_parameters(16)),
    *(("gatv2_conv", "pyg", scaled_gradient(name, 1.001), GRADIENT) for name in gatv2_parameters(16)),
]
"""Of right outputs."""
EPOCHS = [
    *(("epoch", dtype, no_steps, "parameter 0 after the step is wrong") for dtype in ("float32", "float64")),
    *(
        ("epoch", dtype, scaled_gradient(f"layers.{index}.weight", factor), f"{GRADIENT} {index} is wrong")
        for dtype, factor in (("float32", 0.99), ("bfloat16", 0.8), ("bfloat16", 0))
        for index in range(3)
    ),
    *(
        ("epoch_gat", "float32", scaled_gradient(f"layers.{layer}.{name}", 0.9), GRADIENT)
        for layer in range(2)
        for name in ("lin.weight", "att_src", "att_dst", "bias")
        if (layer, name) != (1, "att_dst")  # its terms cancel, see verify.py
    ),
]
LAYERS = ("sage_conv", "gin_conv", "transformer_conv", "message_passing")


def cases():
    """Yield operation, platform, direction, dtype, mutant and message."""
    for platform, rows in (("pyg", OF_PYG), ("dgl", OF_DGL), ("torch", OF_TORCH)):
        for operations, what, mutant in rows:
            for operation in operations.split():
                direction = OPERATIONS[operation].directions[0]
                for dtype in ("float32", "bfloat16") if operation in LAYERS else ("float32",):
                    case = (operation, platform, direction, dtype, mutant, "wrong|shape|positions")
                    yield pytest.param(*case, id=f"{operation}, {dtype}, {what}")
    for loaders, message, mutant in LOADERS:
        for loader in loaders.split():
            yield f"{loader}_0_workers", "pyg", "forward", "float32", mutant, message
    for operation, platform, mutant, message in GRADIENTS:
        yield operation, platform, FORWARD_BACKWARD, "float32", mutant, message
    for operation, dtype, mutant, message in EPOCHS:
        yield operation, "torch" if operation == "epoch" else "pyg", "train", dtype, mutant, message


@pytest.mark.parametrize(("operation", "platform", "direction", "dtype", "mutant", "message"), list(cases()))
def test_it_is_found(make_case, directed_graph, operation, platform, direction, dtype, mutant, message):
    graph = directed_graph if OPERATIONS[operation].group == "structure" else None
    case = make_case(operation, platform, direction, dtype, hidden=64, graph=graph)
    workload_of(case).must_be_found_wrong(mutant, message)
