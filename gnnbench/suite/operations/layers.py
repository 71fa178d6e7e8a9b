"""Layers and their parts: GCN, GraphSAGE, GIN, custom messages, a product, embeddings of nodes.

GCN normalises its graph in each call, or beforehand (`conv_cached`). Custom messages are stored edge by edge.
"""

from functools import partial
from itertools import pairwise
from typing import Any

from ..annotations import Case, Graph, Module, Network, Tensor
from ..libraries import definitions, dgl, functional, inputs, network, on_dgl, pyg_nn, torch
from ..limits import DGL_HALF, MIXED, OVERFLOW, SCATTER_ADD, refuses
from ..operation import FORWARD_BACKWARD, Call, Kernel, operation
from ..platforms import load

EPSILON = 0.5
"""GIN's initial epsilon: not 0, so that the check fails for a layer without epsilon."""

_COLUMNS = 4
"""Columns of messages that the reference computes at a time."""

_EPSILON = OVERFLOW._replace(where=OVERFLOW.where | {FORWARD_BACKWARD})
"""The gradient of epsilon is a sum over all nodes."""
_SPARSE_HALF = refuses("PyTorch adds no sparse tensors in float16 on the CPU", "float16", "cpu")


def _sage(case: Case, fan_in: int, fan_out: int) -> Module:
    if case.spec.platform == "dgl":
        return dgl.nn.SAGEConv(fan_in, fan_out, "mean")
    return pyg_nn.SAGEConv(fan_in, fan_out)


def sage_layer(case: Case) -> Module:
    """Make a GraphSAGE layer with mean aggregation, whose input and output have the hidden width."""
    return network.with_random_parameters(case, _sage(case, case.spec.hidden, case.spec.hidden))


def sage_graph(case: Case) -> Any:
    """Return the graph that a network's layers take; on DGL, without self-loops."""
    module = load(case.spec.platform)
    return module.structure(case) if case.spec.platform == "dgl" else module.layer_graph(case)


def sage_network(case: Case, seed: int = 0) -> Network:
    """Return the two-layer network on a case's platform."""
    widths = pairwise((case.graph.num_features, case.spec.hidden, case.graph.num_classes))
    layers = [_sage(case, *ends) for ends in widths]
    return network.with_random_parameters(case, network.Network(layers, load(case.spec.platform).apply), seed)


def gin(case: Case) -> Module:
    """Make a GIN layer with a trained epsilon; its network is Linear, ReLU, Linear of hidden width.

    Inner weights are whole numbers and inner biases whole numbers plus 1/4: see `whole_features`.
    """
    width = case.spec.hidden
    mlp = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width))
    if case.spec.platform == "dgl":
        layer = dgl.nn.GINConv(mlp, "sum", EPSILON, learn_eps=True)
    else:
        layer = pyg_nn.GINConv(mlp, EPSILON, train_eps=True)
    inner, outer = inputs.pattern(2 * width, width).chunk(2)
    inner_bias, outer_bias = inputs.pattern(2 * width, 1).squeeze(1).chunk(2)
    matrices = inner.round(), outer / width**0.5
    vectors = torch.tensor([EPSILON]), inner_bias.round() + 0.25, outer_bias
    return network.with_parameters(case, layer, (*matrices, *vectors))


def whole_features(case: Case) -> Tensor:
    """Return whole numbers from -2 to 2 as features: [N, F].

    GIN's pre-activations are then odd multiples of 1/4, which are exact in float32. So rounding moves none of
    them across the kink of ReLU, and gradients are comparable entry by entry. In bfloat16, sums over
    neighbours are exact up to 128.
    """
    return case.tensor(inputs.pattern(case.graph.num_nodes, case.spec.hidden).round())


def linear_weight(case: Case) -> Any:
    """Return the GCN's first weight [in, out]; on pyg, a Linear without bias that has this weight."""
    weight, _ = network.initial_weights(network.widths(case.graph, case.spec.hidden))[0]
    if case.spec.platform == "pyg":
        return network.with_parameters(case, pyg_nn.Linear(*weight.shape, bias=False), [weight.t()])
    return case.tensor(weight)


def propagation(graph: Graph) -> tuple[Tensor, Tensor]:
    """Return indices and values of D^-1/2 (A + I) D^-1/2: int64 [2, E + N] and float64 [E + N]."""
    entries, ones = definitions.with_self_loops(graph)
    return entries, definitions.normalize(entries, ones, graph.num_nodes)


def conv(graph: Graph, weight: Tensor, bias: Tensor, x: Tensor) -> Tensor:
    """Return D^-1/2 (A + I) D^-1/2 (x @ weight) + bias: [N, out]."""
    return definitions.aggregate(*propagation(graph), x @ weight) + bias


def sage_conv(graph: Graph, of_mean: Tensor, of_node: Tensor, bias: Tensor, x: Tensor) -> Tensor:
    """Return mean over neighbours @ of_mean + x @ of_node + bias (Hamilton et al., NeurIPS 2017): [N, F]."""
    # The product first: it gives the same result, and is at most as wide as x.
    return definitions.aggregate(graph.edge_index, None, x @ of_mean, "mean") + x @ of_node + bias


def gin_conv(graph: Graph, inner: Tensor, outer: Tensor, epsilon: Tensor, *rest: Tensor) -> Tensor:
    """Return network((1 + epsilon) x + sum over neighbours) (Xu et al., ICLR 2019): [N, F].

    `rest` has the biases of both layers of the network, and x.
    """
    inner_bias, outer_bias, x = rest
    total = (1 + epsilon) * x + definitions.aggregate(graph.edge_index, None, x)
    return (total @ inner + inner_bias).relu() @ outer + outer_bias


def _embeddings(edge_index: Tensor, table: Tensor) -> Tensor:
    source, target = edge_index
    return functional.embedding(source, table, sparse=True) * functional.embedding(target, table, sparse=True)


def products(graph: Graph, table: Tensor) -> Tensor:
    """Return, for each edge, the product of both ends' rows in a table of node embeddings: [E, F]."""
    source, target = graph.edge_index
    return table[source] * table[target]


def _passing_pyg(platform: str) -> Kernel:
    """Return the kernel of a MessagePassing layer as users of PyG write it."""

    class Differences(pyg_nn.MessagePassing):  # type: ignore[misc]
        def forward(self, x: torch.Tensor, graph: Any, edge_weight: torch.Tensor) -> torch.Tensor:
            return self.propagate(graph, x=x, edge_weight=edge_weight)

        def message(self, x_i: torch.Tensor, x_j: torch.Tensor, edge_weight: torch.Tensor) -> torch.Tensor:
            return edge_weight.unsqueeze(1) * (x_j - x_i).relu()

    propagation = Differences(aggr="sum")
    return Kernel(load(platform).layer_graph, lambda graph, x, weight: propagation(x, graph, weight))


def _passing_torch(edge_index: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    source, target = edge_index
    difference = x.index_select(0, source) - x.index_select(0, target)
    return torch.zeros_like(x).index_add(0, target, weight.unsqueeze(1) * difference.relu())


def _passing_dgl() -> Kernel:
    total = dgl.function.sum("message", "out")

    def message(edges: Any) -> dict[str, Tensor]:
        difference = edges.src["x"] - edges.dst["x"]
        return {"message": edges.data["w"].unsqueeze(1) * difference.relu()}

    def run(graph: Any, x: Tensor, weight: Tensor) -> Tensor:
        with graph.local_scope():
            graph.ndata["x"] = x
            graph.edata["w"] = weight
            graph.update_all(message, total)
            return graph.ndata["out"]

    return Kernel(on_dgl.structure, run)


def passing(graph: Graph, x: Tensor, weight: Tensor) -> Tensor:
    """Return the sums over neighbours of weight * relu(x[source] - x[target]): [N, F].

    Gradients are comparable although ReLU has a kink, because a difference of two floating-point numbers has
    the right sign in every dtype.
    """
    # The backward pass computes messages again; autograd would keep several numbers for each message.
    parts = (
        torch.utils.checkpoint.checkpoint(_passed, graph.edge_index, columns, weight, use_reentrant=False)
        for columns in x.split(_COLUMNS, dim=1)
    )
    return torch.cat(list(parts), dim=1)


def _passed(entries: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    source, target = entries
    messages = weight.unsqueeze(1) * (x[source] - x[target]).relu()
    return torch.zeros_like(x).index_add(0, target, messages)


_operation = partial(operation, group="layers")
_convolution = partial(_operation, reference=conv, reach=2)
_call = partial(Call, run="apply", build="layer_graph")
"""Makes a call that applies a layer; the benchmark makes the layer."""

OPERATIONS = (
    _convolution(
        "conv",
        pyg=_call("GCNConv"),
        sparse=_call("GCNConv on SparseTensor"),
        dgl=_call("GraphConv", limits=(DGL_HALF,)),
        torch="the plain PyTorch layer takes a normalised matrix: see conv_cached",
        core=True,
    ),
    _convolution(
        "conv_cached",
        pyg=_call("GCNConv(cached=True)"),
        sparse=_call("GCNConv(cached=True)"),
        torch=_call("normalised CSR @ (x @ W)", limits=(MIXED,)),
        dgl=Call("GraphConv(norm='none'), weights", "apply_weighted", (DGL_HALF,), "normalized_graph"),
    ),
    _operation(
        "sage_conv",
        pyg=Call("SAGEConv", "apply", (SCATTER_ADD,), "edges"),
        sparse=Call("SAGEConv on SparseTensor", "apply", build="ordered_structure"),
        dgl=Call("SAGEConv('mean')", "apply", (DGL_HALF,)),
        reference=sage_conv,
        reach=1,
    ),
    _operation(
        "gin_conv",
        pyg=Call("GINConv", "apply", (SCATTER_ADD, _EPSILON), "edges"),
        sparse=Call("GINConv on SparseTensor", "apply", (_EPSILON,), "ordered_structure"),
        dgl=Call("GINConv('sum')", "apply", (DGL_HALF, _EPSILON)),
        reference=gin_conv,
        reach=1,
    ),
    _operation(
        "linear",
        pyg=Call("torch_geometric.nn.Linear", lambda _, layer, x: layer(x), build=lambda _: None),
        torch=Call("x @ W", lambda _, weight, x: x @ weight, build=lambda _: None),
        dgl="GraphConv calls torch.matmul: see torch",
        reference=lambda _graph, weight, x: x @ weight,
    ),
    _operation(
        "embedding_sparse_gradient",
        torch=Call("functional.embedding(sparse=True), twice", _embeddings, (_SPARSE_HALF,), "edges"),
        pyg="its models take nn.Embedding(sparse=True): see torch",
        dgl="dgl.nn.NodeEmbedding works with several processes and its own optimisers",
        directions=(FORWARD_BACKWARD,),
        reference=products,
        reach=1,
        default=False,
    ),
    _operation(
        "message_passing",
        pyg=Call("MessagePassing with a message()", make=partial(_passing_pyg, "pyg"), limits=(SCATTER_ADD,)),
        sparse=Call("MessagePassing on SparseTensor", make=partial(_passing_pyg, "sparse")),
        torch=Call("index_select, relu, index_add", _passing_torch, build="edges"),
        dgl=Call("update_all(Python function, sum)", make=_passing_dgl, limits=(DGL_HALF,)),
        reference=passing,
        reach=1,
    ),
)
