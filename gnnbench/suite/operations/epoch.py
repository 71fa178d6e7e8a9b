"""A training epoch of a three-layer GCN and each of its phases, and epochs of two layers of GAT or GraphSAGE.

The code is in `training.py`, the models are in `network.py`, `gat_conv.py` and `layers.py`.
"""

from dataclasses import replace
from functools import partial
from itertools import pairwise

from ...engine.ground.labels import Work
from ..annotations import Graph, Tensor
from ..least_work import Symbols
from ..libraries import definitions, inputs
from ..libraries import functional as F
from ..limits import DGL_HALF, MIXED, SCATTER_ADD, avoids
from ..operation import BACKWARD, FORWARD, STEP, TRAIN, Call, Formula, operation
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
    entries, normalized = propagation(graph)  # once: on large graphs it takes gigabytes
    for index, (weight, bias) in enumerate(zip(parameters[:depth], parameters[depth:], strict=True)):
        x = definitions.aggregate(entries, normalized, (x if index == 0 else x.relu()) @ weight) + bias
    return x


def loss(graph: Graph, logits: Tensor) -> Tensor:
    """Return the mean cross-entropy of the training nodes; binary if each has one label per task."""
    logits, labels = logits[graph.train_mask], graph.y[graph.train_mask]
    if labels.is_floating_point():
        return -F.logsigmoid(logits.where(labels > 0, -logits)).mean()
    return (logits.logsumexp(dim=1) - logits.gather(1, labels.unsqueeze(1)).squeeze(1)).mean()


def network_loss(graph: Graph, *tensors: Tensor) -> Tensor:
    """Return the GCN's loss; `tensors` are its weights, its biases and x."""
    return loss(graph, logits(graph, *tensors))


def first_step(_graph: Graph, parameter: Tensor) -> Tensor:
    """Return the parameter after Adam's first step with the gradient `gradient_for(parameter)`."""
    return definitions.adam_step(parameter, inputs.gradient_for(parameter))


def forward_work(m: Symbols) -> Work:
    """Features, parameters and logits.

    Of each layer the product and propagation in the cheaper order, bias, and ReLU except in the last.
    """
    flops = sum(2 * m.N * A * B + m.K(min(A, B)) + 2 * m.N * B for A, B in m.layers) - m.N * m.C
    return Work(m.G(m.E) + m.s * (m.N * m.D + m.P + m.N * m.C), flops)


loss_work = Formula("s (T C + 1) + T y", "4 T C")
"""The training nodes' logits, indices and labels, and the loss.

Flops of maximum, difference, exponential and sum; binary cross-entropy takes at least as many.
"""


def backward_work(m: Symbols) -> Work:
    """Layer inputs, weights, softmax, training nodes and labels are read, the parameters' gradients written.

    Flops of softmax, weights and biases; in all but the first layer of inputs and ReLU: the first needs no
    backward propagation if its forward pass propagates before the product.
    """
    inner = m.layers[1:]
    read = sum(m.N * A for A, _ in m.layers) + sum(A * B for A, B in inner) + m.T * m.C
    parameters = sum(2 * m.N * A * B + m.N * B for A, B in m.layers)
    inputs = sum(2 * m.N * A * B + m.K(min(A, B)) + m.N * A for A, B in inner)
    return Work(m.G(m.E) + m.s * (read + m.P) + m.T * m.y, m.T * m.C + parameters + inputs)


step_work = Formula("7 s P", "12 P")
"""Adam reads parameter, gradient and two moments, and writes all but the gradient.

Flops (Kingma and Ba, ICLR 2015, section 2): 3 and 4 for the moments, 5 for the parameter.
"""


def least_work(m: Symbols) -> Work:
    """Bytes: see `around_layers`. Flops: sum of the phases."""
    phases = (forward_work(m), loss_work(m), backward_work(m), step_work(m))
    return Work(around_layers(m).bytes, sum(phase.flops for phase in phases))


around_layers = Formula("G(E) + s (N D + 7 P + 1) + T y", "5 T C + 12 P")
"""An epoch's bytes: gradients are written, not read. Flops of the loss with its gradient, and of the step."""


def gat_loss(graph: Graph, *tensors: Tensor) -> Tensor:
    """Return GAT's loss; `tensors` are source, target and weight of both layers, their biases, and x."""
    source, target, weight, next_source, next_target, next_weight, bias, next_bias, x = tensors
    hidden = F.elu(gat_conv.gat(graph, source, target, weight, bias, x))
    return loss(graph, gat_conv.gat(graph, next_source, next_target, next_weight, next_bias, hidden))


def gat_work(m: Symbols) -> Work:
    """Bytes as epoch's, with P = sum (A B + 3 B); layer widths A to B in h heads.

    Flops of product; scores at both ends; their sum, LeakyReLU and softmax; propagation; bias; and of their
    gradients, in the second layer also of its inputs; ELU.
    """
    layers = [(A, heads, heads * width) for A, heads, width in gat_conv.widths(m.D, m.F, m.C)]
    rest = around_layers(replace(m, P=sum(A * B + 3 * B for A, _, B in layers)))
    flops = sum(4 * m.N * A * B + 14 * m.N * B + 12 * m.L * h + 6 * m.L * B for A, h, B in layers)
    inner, _, _ = layers[1]
    return Work(rest.bytes, flops + 2 * m.N * inner * m.C + 2 * m.N * inner + rest.flops)


def sage_loss(graph: Graph, *tensors: Tensor) -> Tensor:
    """Return GraphSAGE's loss; `tensors` are both weights of both layers, their biases, and x."""
    of_mean, of_node, next_of_mean, next_of_node, bias, next_bias, x = tensors
    hidden = sage_conv(graph, of_mean, of_node, bias, x).relu()
    return loss(graph, sage_conv(graph, next_of_mean, next_of_node, next_bias, hidden))


def sage_work(m: Symbols) -> Work:
    """Bytes as epoch's, with P = sum (2 A B + B); layer widths A to B.

    Flops of products, mean in the cheaper order, sum and bias, and of their gradients; in the second layer
    also of ReLU and its inputs. The first needs no backward propagation if its forward pass propagates before
    the product.
    """
    layers = tuple(pairwise((m.D, m.F, m.C)))
    rest = around_layers(replace(m, P=sum(2 * A * B + B for A, B in layers)))
    flops = sum(8 * m.N * A * B + (m.E + m.R) * min(A, B) + 3 * m.N * B for A, B in layers)
    flops += 4 * m.N * m.F * m.C + (m.E + m.R) * min(m.F, m.C) + 3 * m.N * m.F
    return Work(rest.bytes, flops + rest.flops)


_operation = partial(operation, group="training")

OPERATIONS = (
    _operation(
        "epoch", **_CALLS, directions=(TRAIN,), core=True, reference=network_loss, least_work=least_work
    ),
    _operation("epoch_forward", **_CALLS, directions=(FORWARD,), reference=logits, least_work=forward_work),
    _operation(
        "epoch_loss",
        torch=Call("nll_loss of log_softmax"),
        elsewhere="every platform uses PyTorch's loss: see torch",
        directions=(FORWARD,),
        default=False,
        reference=loss,
        least_work=loss_work,
    ),
    _operation(
        "epoch_backward",
        **{name: call._replace(limits=(*call.limits, _SMALL)) for name, call in _CALLS.items()},
        directions=(BACKWARD,),
        reference=network_loss,
        least_work=backward_work,
    ),
    _operation(
        "epoch_step",
        torch=Call("torch.optim.Adam"),
        elsewhere="every platform uses PyTorch's step: see torch",
        directions=(STEP,),
        default=False,
        reference=first_step,
        least_work=step_work,
    ),
    _operation(
        "epoch_gat",
        pyg=Call("GATConv on edge_index", limits=_CANCELLING),
        sparse=Call("GATConv on SparseTensor", limits=_CANCELLING),
        dgl=Call("GATConv", limits=(MIXED, *_CANCELLING)),
        directions=(TRAIN,),
        reference=gat_loss,
        least_work=gat_work,
    ),
    _operation(
        "epoch_sage",
        pyg=Call("SAGEConv on edge_index", limits=(SCATTER_ADD,)),
        sparse=Call("SAGEConv on SparseTensor"),
        dgl=Call("SAGEConv"),
        directions=(TRAIN,),
        reference=sage_loss,
        least_work=sage_work,
    ),
)
