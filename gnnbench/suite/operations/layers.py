"""Layers and their parts: GraphSAGE's, GIN's, a product of features and weights, embeddings of nodes."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from ..annotations import Case, Graph, Module, Network, Tensor
from ..libraries import definitions, dgl, functional, inputs, network, pyg_nn, torch
from ..limits import DGL_HALF, OVERFLOW, SCATTER_ADD, refuses
from ..operation import FORWARD_BACKWARD, Call, Formula, operation
from ..platforms import load

EPSILON = 0.5
"""GIN's initial epsilon: not 0, so that a layer without it is found."""

_EPSILON = OVERFLOW._replace(where=OVERFLOW.where | {FORWARD_BACKWARD})
"""The gradient of epsilon is a sum over all nodes."""
_SPARSE_HALF = refuses("PyTorch adds no sparse tensors in float16 on the CPU", "float16", "cpu")


def sage_layer(case: Case) -> Module:
    """Make a GraphSAGE layer with means, from hidden to hidden width."""
    width = case.spec.hidden
    matrices = (inputs.pattern(2 * width, width) / (2 * width) ** 0.5).chunk(2)
    return _sage_layer(case, *matrices, inputs.pattern(width, 1).squeeze(1))


def _sage_layer(case: Case, *values: Tensor) -> Module:
    of_mean, of_node, bias = values
    if case.spec.platform == "dgl":
        conv = dgl.nn.SAGEConv(*of_node.shape, "mean")
        names = "fc_neigh.weight", "fc_self.weight", "fc_self.bias"
    else:
        conv, names = pyg_nn.SAGEConv(*of_node.shape), ("lin_l.weight", "lin_r.weight", "lin_l.bias")
    return network.filled(case, conv, dict(zip(names, (of_mean.t(), of_node.t(), bias), strict=True)))


def sage_graph(case: Case) -> Any:
    """Return the graph that the layers of a network take, on DGL without self-loops."""
    module = load(case.spec.platform)
    return module.structure(case) if case.spec.platform == "dgl" else module.layer_graph(case)


def sage_parameters(graph: Graph, hidden: int, seed: int = 0, out: int = 0) -> list[tuple[Tensor, ...]]:
    """Draw the weights [in, out] of two layers, of means and of the nodes, in float64; the bias is zero.

    `out` is the last width; 0: the number of classes.
    """
    draw = partial(network.glorot, generator=torch.Generator().manual_seed(seed))
    return [
        (draw(fan_in, fan_out), draw(fan_in, fan_out), torch.zeros(fan_out, dtype=torch.float64))
        for fan_in, fan_out in pairwise((graph.num_features, hidden, out or graph.num_classes))
    ]


def sage_network(case: Case, parameters: Sequence[Sequence[Tensor]]) -> Network:
    """Return the network of two layers on a case's platform, with copies of the parameters."""
    layers = [_sage_layer(case, *values) for values in parameters]
    return network.Network(layers, load(case.spec.platform).apply)


def gin(case: Case) -> Module:
    """Make a GIN layer with a trained epsilon; its network is Linear, ReLU, Linear of hidden width.

    Inner weights are whole numbers and inner biases whole numbers plus 1/4: see `whole_features`.
    """
    width = case.spec.hidden
    network = torch.nn.Sequential(
        torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width)
    )
    if case.spec.platform == "dgl":
        layer = dgl.nn.GINConv(network, "sum", EPSILON, learn_eps=True)
    else:
        layer = pyg_nn.GINConv(network, EPSILON, train_eps=True)
    inner, outer = inputs.pattern(2 * width, width).chunk(2)
    inner_bias, outer_bias = inputs.pattern(2 * width, 1).squeeze(1).chunk(2)
    return with_values(
        case,
        layer,
        [inner.round(), outer / width**0.5],
        [torch.tensor([EPSILON]), inner_bias.round() + 0.25, outer_bias],
    )


def whole_features(case: Case) -> Tensor:
    """Return whole numbers from -2 to 2 as features: [N, F].

    GIN's pre-activations are then odd multiples of 1/4, which float32 computes exactly. So rounding moves
    none across the kink of ReLU, and gradients are comparable entry by entry. In bfloat16 the sums over
    neighbours are exact up to 128.
    """
    return case.tensor(inputs.pattern(case.graph.num_nodes, case.spec.hidden).round())


def with_values(case: Case, layer: Module, matrices: Iterable[Tensor], vectors: Iterable[Tensor]) -> Module:
    """Give a layer of linear layers its values, device and dtype; return it.

    `matrices` [in, out] are in the order of its weights, `vectors` in that of its other parameters.
    """
    layer.to(case.device, case.dtype)
    parameters = list(layer.parameters())
    with torch.no_grad():
        for weight, matrix in zip((each for each in parameters if each.dim() > 1), matrices, strict=True):
            weight.copy_(matrix.t())
        for bias, vector in zip((each for each in parameters if each.dim() == 1), vectors, strict=True):
            bias.copy_(vector)
    return layer.requires_grad_(case.requires_grad)


def drawn(case: Case, model: Module) -> Module:
    """Give a model parameters by `glorot`, which are equal on all platforms; return it."""
    draw = partial(network.glorot, generator=torch.Generator().manual_seed(0))
    shapes = [tuple(parameter.shape) for parameter in model.parameters()]
    matrices = [draw(fan_in, fan_out) for fan_out, fan_in in filter(lambda shape: len(shape) > 1, shapes)]
    vectors = [draw(1, *shape).squeeze(0) for shape in shapes if len(shape) == 1]
    return with_values(case, model, matrices, vectors)


def linear_weight(case: Case) -> Any:
    """Return the first weight of the GCN [in, out], on pyg in a Linear without bias."""
    weight, _ = network.initial_weights(network.widths(case.graph, case.spec.hidden))[0]
    if case.spec.platform == "pyg":
        return with_values(case, pyg_nn.Linear(*weight.shape, bias=False), [weight], [])
    return case.tensor(weight)


def sage_conv(graph: Graph, of_mean: Tensor, of_node: Tensor, bias: Tensor, x: Tensor) -> Tensor:
    """Return mean over neighbours @ of_mean + x @ of_node + bias (Hamilton et al., NeurIPS 2017): [N, F]."""
    # The order of mean and product does not matter, and the product is at most as wide.
    return definitions.aggregate(graph.edge_index, None, x @ of_mean, "mean") + x @ of_node + bias


def gin_conv(graph: Graph, inner: Tensor, outer: Tensor, epsilon: Tensor, *rest: Tensor) -> Tensor:
    """Return network((1 + epsilon) x + sum over neighbours) (Xu et al., ICLR 2019): [N, F].

    `rest` is the biases of both layers of the network, and x.
    """
    inner_bias, outer_bias, x = rest
    total = (1 + epsilon) * x + definitions.aggregate(graph.edge_index, None, x)
    return (total @ inner + inner_bias).relu() @ outer + outer_bias


def _embeddings(edge_index: Tensor, table: Tensor) -> Tensor:
    source, target = edge_index
    return functional.embedding(source, table, sparse=True) * functional.embedding(target, table, sparse=True)


def products(graph: Graph, table: Tensor) -> Tensor:
    """Return the product of both ends' rows of a table of node embeddings: [E, F]."""
    source, target = graph.edge_index
    return table[source] * table[target]


_operation = partial(operation, group="layers")

OPERATIONS = (
    _operation(
        "sage_conv",
        pyg=Call("SAGEConv", "apply", (SCATTER_ADD,), "edges"),
        sparse=Call("SAGEConv on SparseTensor", "apply", build="ordered_structure"),
        dgl=Call("SAGEConv('mean')", "apply", (DGL_HALF,)),
        reference=sage_conv,
        reach=1,
        # Means, bias and two products, one of them for nodes with a neighbour; both factors need a gradient.
        least_work=Formula("G(E) + p s (2 N + 2 F + 1) F", "p (E + R + N) F + (2 p - 1) 2 (R + N) F F"),
    ),
    _operation(
        "gin_conv",
        pyg=Call("GINConv", "apply", (SCATTER_ADD, _EPSILON), "edges"),
        sparse=Call("GINConv on SparseTensor", "apply", (_EPSILON,), "ordered_structure"),
        dgl=Call("GINConv('sum')", "apply", (DGL_HALF, _EPSILON)),
        reference=gin_conv,
        reach=1,
        # Sums, the scaled x and its addition, two biases, ReLU and two products; epsilon's gradient.
        least_work=Formula(
            "G(E) + p s ((2 N + 2 F + 2) F + 1)", "p (E + 5 N) F + (2 p - 1) 4 N F F + (p - 1) 2 N F"
        ),
    ),
    _operation(
        "linear",
        pyg=Call("torch_geometric.nn.Linear", lambda _, layer, x: layer(x), build=lambda _: None),
        torch=Call("x @ W", lambda _, weight, x: x @ weight, build=lambda _: None),
        dgl="GraphConv calls torch.matmul: see torch",
        reference=lambda _graph, weight, x: x @ weight,
        least_work=Formula("s (N D + p (D F + N F))", "p 2 N D F"),  # x has no gradient
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
)
