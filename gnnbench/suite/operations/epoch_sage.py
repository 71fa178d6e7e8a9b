"""A training epoch of a two-layer GraphSAGE; the model is in `sage.py`."""

from dataclasses import replace
from itertools import pairwise

from ...engine.ground.labels import Work
from ..annotations import Graph, Tensor
from ..least_work import Symbols
from ..limits import SCATTER_ADD, SPARSE_TENSOR
from ..operation import TRAIN, Call, operation
from . import epoch
from .layers import sage_conv


def network_loss(graph: Graph, *tensors: Tensor) -> Tensor:
    """Return the loss; `tensors` are both weights of both layers, their biases, and x."""
    neighbours, own, next_neighbours, next_own, bias, next_bias, x = tensors
    hidden = sage_conv(graph, neighbours, own, bias, x).relu()
    return epoch.loss(graph, sage_conv(graph, next_neighbours, next_own, next_bias, hidden))


def least_work(m: Symbols) -> Work:
    """Bytes as epoch's, with P = sum (2 A B + B); layer widths A to B.

    Flops of products, mean in the cheaper order, sum and bias, and of their gradients; in the second layer
    also of ReLU and its inputs. The first needs no backward propagation if its forward pass propagates before
    the product.
    """
    layers = tuple(pairwise((m.D, m.F, m.C)))
    own = replace(m, P=sum(2 * A * B + B for A, B in layers))
    flops = sum(8 * m.N * A * B + (m.E + m.R) * min(A, B) + 3 * m.N * B for A, B in layers)
    flops += 4 * m.N * m.F * m.C + (m.E + m.R) * min(m.F, m.C) + 3 * m.N * m.F
    rest = epoch.around_layers(own)
    return Work(rest.bytes, flops + rest.flops)


OPERATIONS = (
    operation(
        "epoch_sage",
        pyg=Call("SAGEConv on edge_index", limits=(SCATTER_ADD,)),
        sparse=Call("SAGEConv on SparseTensor", limits=(SPARSE_TENSOR,)),
        dgl=Call("SAGEConv"),
        torch="plain PyTorch has no GraphSAGE layer; its mean over neighbours is spmm_mean",
        directions=(TRAIN,),
        reference=network_loss,
        least_work=least_work,
        group="training",
    ),
)
