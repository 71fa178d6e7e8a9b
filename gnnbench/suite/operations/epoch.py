"""Training epochs of a three-layer GCN and two-layer GAT and GraphSAGE; the GCN's forward and backward pass.

The code is in `training.py`, the models are in `network.py`, `gat_conv.py` and `layers.py`.
"""

from functools import partial

from ..annotations import Graph, Tensor
from ..libraries import definitions
from ..libraries import functional as F
from ..limits import DGL_HALF, MIXED, SCATTER_ADD, avoids
from ..operation import BACKWARD, FORWARD, TRAIN, Call, operation
from ..spec import AUTOCAST
from . import gat_conv
from .layers import propagation, sage_conv

_CALLS = {
    "pyg": Call("GCNConv on edge_index"),
    "sparse": Call("GCNConv on SparseTensor"),
    "torch": Call("normalised CSR @ (x @ W)", limits=(MIXED,)),
    "dgl": Call("GraphConv", limits=(DGL_HALF,)),
}

_SMALL = avoids("gradients of a mean loss are too small for float16", "float16", BACKWARD)
_CANCELLING = tuple(
    avoids("the terms of the biases' gradients nearly cancel: too inexact in bfloat16", dtype)
    for dtype in ("bfloat16", AUTOCAST)
)


def logits(graph: Graph, *tensors: Tensor) -> Tensor:
    """Return the GCN's output [N, C]; `tensors` are its weights, its biases and x."""
    *parameters, x = tensors
    depth = len(parameters) // 2
    entries, normalized = propagation(graph)  # once, as it takes gigabytes on large graphs
    for index, (weight, bias) in enumerate(zip(parameters[:depth], parameters[depth:], strict=True)):
        x = definitions.aggregate(entries, normalized, (x if index == 0 else x.relu()) @ weight) + bias
    return x


def loss(graph: Graph, logits: Tensor) -> Tensor:
    """Return the mean cross-entropy of the training nodes."""
    logits, labels = logits[graph.train_mask], graph.y[graph.train_mask]
    return (logits.logsumexp(dim=1) - logits.gather(1, labels.unsqueeze(1)).squeeze(1)).mean()


def network_loss(graph: Graph, *tensors: Tensor) -> Tensor:
    """Return the GCN's loss; `tensors` are its weights, its biases and x."""
    return loss(graph, logits(graph, *tensors))


def gat_loss(graph: Graph, *tensors: Tensor) -> Tensor:
    """Return GAT's loss.

    `tensors` are, for each layer, attention vectors (source, target) and a weight; then both biases and x.
    """
    source, target, weight, next_source, next_target, next_weight, bias, next_bias, x = tensors
    hidden = F.elu(gat_conv.gat(graph, source, target, weight, bias, x))
    return loss(graph, gat_conv.gat(graph, next_source, next_target, next_weight, next_bias, hidden))


def sage_loss(graph: Graph, *tensors: Tensor) -> Tensor:
    """Return GraphSAGE's loss; `tensors` are the two weights of each layer, the layers' biases, and x."""
    of_mean, of_node, next_of_mean, next_of_node, bias, next_bias, x = tensors
    hidden = sage_conv(graph, of_mean, of_node, bias, x).relu()
    return loss(graph, sage_conv(graph, next_of_mean, next_of_node, next_bias, hidden))


_operation = partial(operation, group="training")

OPERATIONS = (
    _operation("epoch", **_CALLS, directions=(TRAIN,), core=True, reference=network_loss),
    _operation("epoch_forward", **_CALLS, directions=(FORWARD,), reference=logits),
    _operation(
        "epoch_backward",
        **{name: call._replace(limits=(*call.limits, _SMALL)) for name, call in _CALLS.items()},
        directions=(BACKWARD,),
        reference=network_loss,
    ),
    _operation(
        "epoch_gat",
        pyg=Call("GATConv on edge_index", limits=_CANCELLING),
        sparse=Call("GATConv on SparseTensor", limits=_CANCELLING),
        dgl=Call("GATConv", limits=(MIXED, *_CANCELLING)),
        directions=(TRAIN,),
        reference=gat_loss,
    ),
    _operation(
        "epoch_sage",
        pyg=Call("SAGEConv on edge_index", limits=(SCATTER_ADD,)),
        sparse=Call("SAGEConv on SparseTensor"),
        dgl=Call("SAGEConv"),
        directions=(TRAIN,),
        reference=sage_loss,
    ),
)
