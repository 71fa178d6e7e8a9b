"""A training epoch of a two-layer graph attention network; the model is in `gat.py`."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ..least_work import Symbols, Work
from ..limits import SPARSE_TENSOR, Limit
from ..operation import Call, Operation
from ..spec import TRAIN
from . import epoch

if TYPE_CHECKING:
    from torch import Tensor

    from ..graphs.graph import Graph

_NEGATIVE_SLOPE = 0.2
_ROUNDING = Limit(
    "the terms of the biases' gradients nearly cancel: too inexact in bfloat16",
    frozenset({"bfloat16"}),
    raises=False,
)


def convolution(
    graph: "Graph", source: "Tensor", target: "Tensor", weight: "Tensor", bias: "Tensor", x: "Tensor"
) -> "Tensor":
    """Return one layer's output: [N, heads * width].

    With h = x @ weight, a node weighs the h of itself and its neighbours by the softmax over them of
    LeakyReLU(source * h[neighbour] + target * h[node]), for each head.

    Args:
        graph: without self-loops.
        source: [1, heads, width].
        target: [1, heads, width].
        weight: [in, heads * width].
        bias: [heads * width].
        x: [N, in].
    """
    import torch
    import torch.nn.functional as F

    from ..reference import aggregate, looped, sums

    entries, _ = looped(graph)
    h = (x @ weight).view(len(x), *source.shape[1:])
    at_source, at_target = (h * source).sum(dim=2), (h * target).sum(dim=2)
    heads = []
    for head in range(h.size(1)):
        score = F.leaky_relu(at_source[entries[0], head] + at_target[entries[1], head], _NEGATIVE_SLOPE)
        share = score.exp() / sums(entries[1], score.exp(), len(x))[entries[1]]
        heads.append(aggregate(entries, share, h[:, head]))
    return torch.cat(heads, dim=1) + bias


def network_loss(graph: "Graph", *tensors: "Tensor") -> "Tensor":
    """Return the loss; `tensors` are source, target and weight of both layers, their biases, and x."""
    import torch.nn.functional as F

    source, target, weight, next_source, next_target, next_weight, bias, next_bias, x = tensors
    hidden = F.elu(convolution(graph, source, target, weight, bias, x))
    return epoch.loss(graph, convolution(graph, next_source, next_target, next_weight, next_bias, hidden))


def least_work(m: Symbols) -> Work:
    """Bytes as epoch's, with P = sum (A B + 3 B); layer widths A to B in h heads.

    Flops forward per layer 2 N A B + 4 N B + 5 L h + 2 L B + N B: product; both scores; their sum,
    LeakyReLU and softmax; propagation; bias. Backward 2 N A B + 8 N B + 7 L h + 4 L B + N B: weight; scores
    and attention; softmax, LeakyReLU and sums at both ends; features and softmax; bias; in the second layer
    also 2 N A B for its inputs. ELU takes N A forward and N A backward.
    """
    from .. import gat

    layers = [(A, heads, heads * width) for A, heads, width in gat.widths(m.D, m.F, m.C)]
    own = replace(m, P=sum(A * B + 3 * B for A, _, B in layers))
    flops = sum(4 * m.N * A * B + 14 * m.N * B + 12 * m.L * h + 6 * m.L * B for A, h, B in layers)
    inner, _, _ = layers[1]
    flops += 2 * m.N * inner * m.C + 2 * m.N * inner
    flops += epoch.loss_work(m).flops + m.T * m.C + epoch.step_work(own).flops
    return Work(epoch.training_bytes(own), flops)


OPERATIONS = (
    Operation(
        "epoch_gat",
        {
            "pyg": Call("GATConv on edge_index", limits=(_ROUNDING,)),
            "sparse": Call("GATConv on SparseTensor", limits=(SPARSE_TENSOR, _ROUNDING)),
            "dgl": Call("GATConv", limits=(_ROUNDING,)),
        },
        {"torch": "plain PyTorch has no softmax over the entries of CSR rows"},
        directions=(TRAIN,),
        reference=network_loss,
        least_work=least_work,
        group="training",
    ),
)
