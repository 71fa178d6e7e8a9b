"""Layers of graph attention on each library, and the network of two (Velickovic et al., ICLR 2018).

On Cora the published one has 8 heads of width 8, ELU, and one output head: hidden width 64.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from .case import Case
from .graphs.graph import Graph
from .libraries import dgl, on_dgl, pyg_nn
from .network import Network, filled, glorot
from .platforms import Kernel, load

HEADS = 8

_IN_DGL = {
    "GATConv": {"att_src": "attn_l", "att_dst": "attn_r", "lin.weight": "fc.weight", "bias": "bias"},
    "GATv2Conv": {
        "att": "attn",
        "lin_l.weight": "fc_src.weight",
        "lin_l.bias": "fc_src.bias",
        "lin_r.weight": "fc_dst.weight",
        "lin_r.bias": "fc_dst.bias",
    },
}
"""By layer, DGL's name of each parameter by PyG's."""


def widths(num_features: int, hidden: int, num_classes: int) -> tuple[tuple[int, int, int], ...]:
    """Return each layer's width of the input, heads, and width of a head."""
    width = max(1, hidden // HEADS)
    return (num_features, HEADS, width), (HEADS * width, 1, num_classes)


def initial_parameters(graph: Graph, hidden: int, seed: int = 0) -> list[tuple[Tensor, ...]]:
    """Draw both layers' parameters in float64, in the order of GATConv's names; the bias is zero."""
    generator = torch.Generator().manual_seed(seed)
    return [
        (
            glorot(heads, width, generator).unsqueeze(0),
            glorot(heads, width, generator).unsqueeze(0),
            glorot(fan_in, heads * width, generator).t(),
            torch.zeros(heads * width, dtype=torch.float64),
        )
        for fan_in, heads, width in widths(graph.num_features, hidden, graph.num_classes)
    ]


def kernel(platform: str) -> Kernel:
    """Return the kernel that applies a layer; `run` takes the structure, the layer and x [N, in]."""
    if platform != "dgl":
        return load(platform).convolution()
    return Kernel(on_dgl.looped_graph, lambda graph, layer, x: layer(graph, x).flatten(1))


def layer(case: Case, name: str, shape: tuple[int, int, int], values: Mapping[str, Tensor]) -> nn.Module:
    """Make a layer, GATConv or GATv2Conv, with copies of values by PyG's names; for `shape` see `widths`."""
    fan_in, heads, width = shape
    if case.spec.platform != "dgl":
        return filled(case, getattr(pyg_nn, name)(fan_in, width, heads), values)
    names = _IN_DGL[name]
    given = {names[key]: value for key, value in values.items() if key in names}
    return filled(case, getattr(dgl.nn, name)(fan_in, width, heads), given)


def build(case: Case, parameters: Sequence[Sequence[Tensor]]) -> Network:
    """Return the network on a case's platform, with copies of the parameters."""
    shapes = widths(case.graph.num_features, case.spec.hidden, case.graph.num_classes)
    layers = [
        layer(case, "GATConv", shape, dict(zip(_IN_DGL["GATConv"], values, strict=True)))
        for shape, values in zip(shapes, parameters, strict=True)
    ]
    return Network(layers, kernel(case.spec.platform).run, "elu")
