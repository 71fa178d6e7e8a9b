"""The graph attention network of two layers (Velickovic et al., ICLR 2018), with each library's layer.

On Cora the published one has 8 heads of width 8, ELU, and one output head: hidden width 64.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .case import Case
from .graphs.graph import Graph
from .libraries import dgl, on_dgl, pyg_nn
from .network import Network, filled, glorot
from .platforms import Kernel, load

HEADS = 8


class Parameters(NamedTuple):
    """One layer's parameters, in float64 on the CPU."""

    source: Tensor
    """Of the attention, for the sources' features: [1, heads, width]."""
    target: Tensor
    """For the targets': [1, heads, width]."""
    weight: Tensor
    """[in, heads * width]."""
    bias: Tensor
    """[heads * width]."""


def widths(num_features: int, hidden: int, num_classes: int) -> tuple[tuple[int, int, int], ...]:
    """Return each layer's width of the input, heads, and width of a head."""
    width = max(1, hidden // HEADS)
    return (num_features, HEADS, width), (HEADS * width, 1, num_classes)


def initial_parameters(graph: Graph, hidden: int, seed: int = 0) -> list[Parameters]:
    """Draw the parameters of both layers."""
    generator = torch.Generator().manual_seed(seed)
    return [draw(*layer, generator) for layer in widths(graph.num_features, hidden, graph.num_classes)]


def draw(fan_in: int, heads: int, width: int, generator: torch.Generator) -> Parameters:
    """Draw one layer's parameters; the bias is zero."""
    return Parameters(
        glorot(heads, width, generator).unsqueeze(0),
        glorot(heads, width, generator).unsqueeze(0),
        glorot(fan_in, heads * width, generator),
        torch.zeros(heads * width, dtype=torch.float64),
    )


def kernel(platform: str) -> Kernel:
    """Return the kernel that applies a layer; `run` takes the structure, the layer and x [N, in]."""
    if platform != "dgl":
        return load(platform).convolution(cached=False)
    return Kernel(on_dgl.looped_graph, lambda graph, layer, x: layer(graph, x).flatten(1))


def layer(platform: str, parameters: Parameters) -> nn.Module:
    """Make a platform's layer with copies of the parameters."""
    _, heads, width = parameters.source.shape
    fan_in = len(parameters.weight)
    if platform == "dgl":
        conv = dgl.nn.GATConv(fan_in, width, heads)
        names = "attn_l", "attn_r", "fc.weight", "bias"
    else:
        conv = pyg_nn.GATConv(fan_in, width, heads)
        names = "att_src", "att_dst", "lin.weight", "bias"
    return filled(conv, names, parameters._replace(weight=parameters.weight.t()))


def build(case: Case, parameters: Sequence[Parameters]) -> Network:
    """Return the network on a case's platform, with copies of the parameters."""
    layers = [
        layer(case.spec.platform, Parameters(*(one.to(case.device, case.dtype) for one in each)))
        for each in parameters
    ]
    return Network(layers, kernel(case.spec.platform).run, "elu")
