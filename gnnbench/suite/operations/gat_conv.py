"""Graph attention with 8 heads.

The layers are GAT (Velickovic et al., ICLR 2018), GATv2 (Brody et al., ICLR 2022), and dot-product attention.
In GAT and GATv2 a node attends to its neighbours and to itself. PyG adds self-loops in each call; DGL gets a
graph with self-loops. PyG's GATv2Conv also adds a bias to its output; DGL's layer has no such bias.
"""

from dataclasses import replace
from functools import partial

from ..annotations import Case, DGLGraph, Graph, Module, Network, Tensor
from ..libraries import definitions, dgl, inputs, network, pyg_nn, torch
from ..libraries import functional as F
from ..limits import DGL_HALF, MIXED, SCATTER_ADD, avoids
from ..operation import Call, operation
from ..platforms import load
from . import edge_softmax
from .edge_softmax import HEADS

NEGATIVE_SLOPE = 0.2
"""Slope of LeakyReLU below 0: the default of both libraries."""

_TARGET = 1 / 20
"""Size of the parameters for targets, relative to that of the parameters for sources."""

_ROUNDING = avoids("DGL sums in bfloat16, which is too inexact at nodes of high degree", "bfloat16")


def features(case: Case) -> Tensor:
    """Return features [N, F], all positive at even nodes and all negative at odd ones.

    LeakyReLU's gradient jumps at 0, where rounding would choose one of its values. So attention vectors and
    weights are positive, and small for the target: a score has its source's sign and is not near 0.
    """
    sign = 1 - 2 * (torch.arange(case.graph.num_nodes) % 2)
    return case.tensor(_positive(case.graph.num_nodes, case.spec.hidden) * sign.unsqueeze(1))


def gat_parameters(width: int) -> dict[str, Tensor]:
    """Return parameters by name in PyG: attention vectors [1, H, C], weight [H C, F] and bias [H C]."""
    channels = _channels(width)
    at_source, at_target = _positive(2 * HEADS, channels).div(channels).view(2, 1, HEADS, channels)
    return {
        "att_src": at_source,
        "att_dst": at_target * _TARGET,
        "lin.weight": _positive(HEADS * channels, width) / width,
        "bias": inputs.pattern(HEADS * channels, 1).squeeze(1),
    }


def gatv2_parameters(width: int) -> dict[str, Tensor]:
    """Return parameters by name in PyG: attention vector [1, H, C], weights [H C, F] and biases [H C].

    DGL's layer has no `bias`.
    """
    channels = _channels(width)
    of_source, of_target = _positive(HEADS * channels, 2 * width).div(width).split(width, dim=1)
    bias, source_bias, target_bias = inputs.pattern(HEADS * channels, 3).unbind(1)
    return {
        "att": _positive(HEADS, channels).div(channels).unsqueeze(0),
        "lin_l.weight": of_source,
        "lin_r.weight": of_target * _TARGET,
        "bias": bias,
        "lin_l.bias": source_bias * _TARGET,
        "lin_r.bias": target_bias * _TARGET,
    }


def _channels(width: int) -> int:
    """Return the width C of a head: H C is the input's width, if that is a multiple of H."""
    return max(1, width // HEADS)


def _positive(rows: int, columns: int) -> Tensor:
    """Return values between 0.5 and 1.5: float64 [rows, columns]."""
    return inputs.pattern(rows, columns) / 4 + 1


def _on_dgl(graph: DGLGraph, layer: Module, x: Tensor) -> Tensor:
    return layer(graph, x).flatten(1)


def _library_layer(case: Case, name: str, fan_in: int, heads: int, width: int) -> Module:
    library = dgl.nn if case.spec.platform == "dgl" else pyg_nn
    return getattr(library, name)(fan_in, width, heads)


def layer(case: Case) -> Module:
    """Make the GATConv or GATv2Conv of a case, whose input and output have the hidden width."""
    width, is_v2 = case.spec.hidden, case.spec.operation.startswith("gatv2")
    values = gatv2_parameters(width) if is_v2 else gat_parameters(width)
    if is_v2 and case.spec.platform == "dgl":
        del values["bias"]
    conv = _library_layer(case, "GATv2Conv" if is_v2 else "GATConv", width, HEADS, _channels(width))
    return network.with_parameters(case, conv, values.values())


def build(case: Case, seed: int = 0) -> Network:
    """Return the two-layer network on a case's platform: HEADS heads, ELU, and one output head.

    On Cora the published network has 8 heads of width 8: hidden width 64.
    """
    width = _channels(case.spec.hidden)
    apply = _on_dgl if case.spec.platform == "dgl" else load(case.spec.platform).apply
    layers = [
        _library_layer(case, "GATConv", case.graph.num_features, HEADS, width),
        _library_layer(case, "GATConv", HEADS * width, 1, case.graph.num_classes),
    ]
    return network.with_random_parameters(case, network.Network(layers, apply, "elu"), seed)


def _looped(graph: Graph) -> Graph:
    return replace(graph, edge_index=definitions.with_self_loops(graph)[0])


def attend(graph: Graph, score: Tensor, hidden: Tensor) -> Tensor:
    """Return the sums of hidden [N, H, C] by target, weighted by the softmax of score [E, H]: [N, H C]."""
    weight = edge_softmax.reference(graph, score)
    heads = zip(weight.unbind(1), hidden.unbind(1), strict=True)
    return torch.cat([definitions.aggregate(graph.edge_index, *head) for head in heads], dim=1)


def gat(
    graph: Graph, at_source: Tensor, at_target: Tensor, weight: Tensor, bias: Tensor, x: Tensor
) -> Tensor:
    """Return sums of h = x @ weight over neighbours, weighted by attention, plus bias: [N, H C].

    An entry's score is LeakyReLU(at_source · h[source] + at_target · h[target]), for each head.
    """
    graph = _looped(graph)
    source, target = graph.edge_index
    hidden = (x @ weight).view(len(x), *at_source.shape[1:])
    score = (hidden * at_source).sum(dim=2)[source] + (hidden * at_target).sum(dim=2)[target]
    return attend(graph, F.leaky_relu(score, NEGATIVE_SLOPE), hidden) + bias


def gatv2(graph: Graph, attention: Tensor, of_source: Tensor, of_target: Tensor, *rest: Tensor) -> Tensor:
    """Return sums of s = x @ of_source + source_bias over neighbours, weighted by attention: [N, H C].

    An entry's score is attention · LeakyReLU(s[source] + t[target]) with t = x @ of_target + target_bias, for
    each head. `rest` is the output's bias (on PyG only), source_bias, target_bias and x.
    """
    *bias, source_bias, target_bias, x = rest
    graph = _looped(graph)
    source, target = graph.edge_index
    hidden = (x @ of_source + source_bias).view(len(x), *attention.shape[1:])
    at_target = (x @ of_target + target_bias).view_as(hidden)
    scores = [
        F.leaky_relu(hidden[source, head] + at_target[target, head], NEGATIVE_SLOPE) @ attention[0, head]
        for head in range(hidden.size(1))
    ]
    output = attend(graph, torch.stack(scores, dim=1), hidden)
    return output + bias[0] if bias else output


def transformer_layer(case: Case) -> Module:
    """Make PyG's layer with HEADS heads, whose input and output have the hidden width, a multiple of HEADS.

    The bias of the keys is not trained: it adds the same number to all scores of a softmax, so its gradient
    is zero, and only rounding errors could be compared.
    """
    width = case.spec.hidden
    conv = network.with_random_parameters(case, pyg_nn.TransformerConv(width, width // HEADS, HEADS))
    conv.lin_key.bias.requires_grad_(False)
    return conv


def transformer(graph: Graph, *tensors: Tensor) -> Tensor:
    """Return softmax(queries @ keys / sqrt(d)) @ values of each head + x @ skip + skip_bias: [N, F].

    The softmax is over a node's neighbours, which give keys and values; d is a head's width (Shi et al.,
    IJCAI 2021). `tensors` are the weights of keys, queries, values and skip, their biases, and x.
    """
    *weights, skip, key_bias, query_bias, value_bias, skip_bias, x = tensors
    keys, queries, values = (
        (x @ weight + bias).view(len(x), HEADS, -1)
        for weight, bias in zip(weights, (key_bias, query_bias, value_bias), strict=True)
    )
    # The backward pass computes scores again; autograd would keep two rows for each entry of the graph.
    scores = [
        torch.utils.checkpoint.checkpoint(_scores, graph.edge_index, *head, use_reentrant=False)
        for head in zip(keys.unbind(1), queries.unbind(1), strict=True)
    ]
    return attend(graph, torch.stack(scores, dim=1), values) + x @ skip + skip_bias


def _scores(entries: Tensor, key: Tensor, query: Tensor) -> Tensor:
    source, target = entries
    return (query[target] * key[source]).sum(dim=1) / key.size(1) ** 0.5


_operation = partial(operation, reach=1, group="attention")
_LIMITS = (_ROUNDING, DGL_HALF, MIXED)

OPERATIONS = (
    _operation(
        "gat_conv",
        pyg=Call("GATConv", "apply", build="layer_graph"),
        sparse=Call("GATConv on SparseTensor", "apply", build="layer_graph"),
        dgl=Call("GATConv", _on_dgl, _LIMITS, "layer_graph"),
        reference=gat,
    ),
    _operation(
        "gatv2_conv",
        pyg=Call("GATv2Conv", "apply", build="layer_graph"),
        sparse=Call("GATv2Conv on SparseTensor", "apply", build="layer_graph"),
        dgl=Call("GATv2Conv", _on_dgl, _LIMITS, "layer_graph"),
        reference=gatv2,
    ),
    _operation(
        "transformer_conv",
        pyg=Call("TransformerConv", "apply", (SCATTER_ADD,), "edges"),
        sparse=Call("TransformerConv on SparseTensor", "apply", build="ordered_structure"),
        torch="PyTorch's attention is between all pairs of nodes, not over a graph's edges",
        dgl="DGL has no such layer: its DotGatConv has one weight for keys and values, and no skip",
        reference=transformer,
        group="layers",
    ),
)
