"""GraphSAGE of two layers with means over neighbours (Hamilton et al., NeurIPS 2017), by library."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .case import Case
from .graphs.graph import Graph
from .libraries import dgl, on_dgl, pyg_nn
from .network import Network, filled, glorot
from .platforms import Kernel, load


class Parameters(NamedTuple):
    """One layer's parameters, in float64 on the CPU."""

    neighbours: Tensor
    """Weight of the mean over neighbours: [in, out]."""
    own: Tensor
    """Weight of the node's own features: [in, out]."""
    bias: Tensor
    """[out]."""


def initial_parameters(graph: Graph, hidden: int, seed: int = 0, out: int | None = None) -> list[Parameters]:
    """Draw each layer's weights; the bias is zero. `out` is the last width; None: the number of classes."""
    generator = torch.Generator().manual_seed(seed)
    return [
        Parameters(
            glorot(fan_in, fan_out, generator),
            glorot(fan_in, fan_out, generator),
            torch.zeros(fan_out, dtype=torch.float64),
        )
        for fan_in, fan_out in pairwise((graph.num_features, hidden, out or graph.num_classes))
    ]


def kernel(platform: str) -> Kernel:
    """Return the kernel that applies a layer; `run` takes the structure, the layer and x [N, in]."""
    if platform != "dgl":
        return load(platform).convolution(cached=False)
    return Kernel(on_dgl.structure, lambda graph, layer, x: layer(graph, x))


def layer(platform: str, parameters: Parameters) -> nn.Module:
    """Make a platform's layer with copies of the parameters."""
    shape = parameters.own.shape
    if platform == "dgl":
        conv, names = dgl.nn.SAGEConv(*shape, "mean"), ("fc_neigh.weight", "fc_self.weight", "fc_self.bias")
    else:
        conv, names = pyg_nn.SAGEConv(*shape), ("lin_l.weight", "lin_r.weight", "lin_l.bias")
    return filled(conv, names, (parameters.neighbours.t(), parameters.own.t(), parameters.bias))


def build(case: Case, parameters: Sequence[Parameters]) -> Network:
    """Return the network on a case's platform, with copies of the parameters."""
    layers = [
        layer(case.spec.platform, Parameters(*(one.to(case.device, case.dtype) for one in each)))
        for each in parameters
    ]
    return Network(layers, kernel(case.spec.platform).run)
