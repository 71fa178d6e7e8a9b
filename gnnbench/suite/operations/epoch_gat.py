"""A training epoch of a two-layer graph attention network; the model is in `gat.py`."""

from dataclasses import replace

from ...engine.ground.labels import Work
from ..annotations import Graph, Tensor
from ..least_work import Symbols
from ..libraries import functional as F
from ..libraries import gat
from ..limits import MIXED, SPARSE_TENSOR, avoids
from ..operation import TRAIN, Call, operation
from ..spec import AUTOCAST
from . import epoch, gat_conv

_ROUNDING = tuple(
    avoids("the terms of the biases' gradients nearly cancel: too inexact in bfloat16", dtype)
    for dtype in ("bfloat16", AUTOCAST)
)


def network_loss(graph: Graph, *tensors: Tensor) -> Tensor:
    """Return the loss; `tensors` are source, target and weight of both layers, their biases, and x."""
    source, target, weight, next_source, next_target, next_weight, bias, next_bias, x = tensors
    hidden = F.elu(gat_conv.gat(graph, source, target, weight, bias, x))
    return epoch.loss(graph, gat_conv.gat(graph, next_source, next_target, next_weight, next_bias, hidden))


def least_work(m: Symbols) -> Work:
    """Bytes as epoch's, with P = sum (A B + 3 B); layer widths A to B in h heads.

    Flops of product; scores at both ends; their sum, LeakyReLU and softmax; propagation; bias; and of their
    gradients, in the second layer also of its inputs; ELU.
    """
    layers = [(A, heads, heads * width) for A, heads, width in gat.widths(m.D, m.F, m.C)]
    own = replace(m, P=sum(A * B + 3 * B for A, _, B in layers))
    flops = sum(4 * m.N * A * B + 14 * m.N * B + 12 * m.L * h + 6 * m.L * B for A, h, B in layers)
    inner, _, _ = layers[1]
    flops += 2 * m.N * inner * m.C + 2 * m.N * inner
    rest = epoch.around_layers(own)
    return Work(rest.bytes, flops + rest.flops)


OPERATIONS = (
    operation(
        "epoch_gat",
        pyg=Call("GATConv on edge_index", limits=_ROUNDING),
        sparse=Call("GATConv on SparseTensor", limits=(SPARSE_TENSOR, *_ROUNDING)),
        dgl=Call("GATConv", limits=(MIXED, *_ROUNDING)),
        torch="plain PyTorch has no softmax over the entries of CSR rows",
        directions=(TRAIN,),
        reference=network_loss,
        least_work=least_work,
        group="training",
    ),
)
