"""A layer with dot-product attention over neighbours."""

from ..annotations import Case, Graph, Module, Tensor
from ..libraries import inputs, network, pyg_nn, torch
from ..limits import SCATTER_ADD
from ..operation import Call, operation
from . import gat_conv

HEADS = 8


def layer(case: Case) -> Module:
    """Make PyG's layer with HEADS heads, from hidden to hidden width; HEADS must divide the width.

    The bias of the keys is not trained: it adds the same number to all scores of a softmax, so its gradient
    is zero, and nothing but rounding could be compared.
    """
    width = case.spec.hidden
    matrices = (inputs.pattern(4 * width, width) / width**0.5).chunk(4)
    vectors = inputs.pattern(4 * width, 1).squeeze(1).chunk(4)
    conv = pyg_nn.TransformerConv(width, width // HEADS, HEADS)
    network.filled(case, conv, (*matrices, *vectors))
    conv.lin_key.bias.requires_grad_(False)
    return conv


def reference(graph: Graph, *tensors: Tensor) -> Tensor:
    """Return softmax(queries @ keys / sqrt(d)) @ values of each head + x @ skip + skip_bias: [N, F].

    The softmax is over a node's neighbours, which give keys and values; d is a head's width (Shi et al.,
    IJCAI 2021). `tensors` are the weights of keys, queries, values and skip, their biases, and x.
    """
    *weights, skip, key_bias, query_bias, value_bias, skip_bias, x = tensors
    keys, queries, values = (
        (x @ weight + bias).view(len(x), HEADS, -1)
        for weight, bias in zip(weights, (key_bias, query_bias, value_bias), strict=True)
    )
    # Computed again in the backward pass, as autograd would keep two rows for each entry of the graph.
    scores = [
        torch.utils.checkpoint.checkpoint(_scores, graph.edge_index, *head, use_reentrant=False)
        for head in zip(keys.unbind(1), queries.unbind(1), strict=True)
    ]
    return gat_conv.attend(graph, torch.stack(scores, dim=1), values) + x @ skip + skip_bias


def _scores(entries: Tensor, key: Tensor, query: Tensor) -> Tensor:
    source, target = entries
    return (query[target] * key[source]).sum(dim=1) / key.size(1) ** 0.5


OPERATIONS = (
    operation(
        "transformer_conv",
        pyg=Call("TransformerConv", "apply", (SCATTER_ADD,), "edges"),
        sparse=Call("TransformerConv on SparseTensor", "apply", build="ordered_structure"),
        torch="PyTorch's attention is between all pairs of nodes, not over a graph's edges",
        dgl="DGL has no such layer: its DotGatConv has one weight for keys and values, and no skip",
        reference=reference,
        reach=1,
        group="layers",
    ),
)
