"""GraphSAGE of two layers with means over neighbours (Hamilton et al., NeurIPS 2017), by library."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from .case import Case
from .graphs.graph import Graph
from .libraries import dgl, on_dgl, pyg_nn
from .network import Network, filled, glorot
from .platforms import Kernel, load


def initial_parameters(
    graph: Graph, hidden: int, seed: int = 0, out: int | None = None
) -> list[tuple[Tensor, ...]]:
    """Draw each layer's weights [in, out], of the mean and of the node itself, in float64; the bias is zero.

    `out` is the last width; None: the number of classes.
    """
    generator = torch.Generator().manual_seed(seed)
    return [
        (
            glorot(fan_in, fan_out, generator),
            glorot(fan_in, fan_out, generator),
            torch.zeros(fan_out, dtype=torch.float64),
        )
        for fan_in, fan_out in pairwise((graph.num_features, hidden, out or graph.num_classes))
    ]


def kernel(platform: str) -> Kernel:
    """Return the kernel that applies a layer; `run` takes the structure, the layer and x [N, in]."""
    return Kernel(on_dgl.structure, on_dgl.apply) if platform == "dgl" else load(platform).convolution()


def layer(case: Case, of_mean: Tensor, of_node: Tensor, bias: Tensor) -> nn.Module:
    """Make the platform's layer with copies of its weights [in, out] and bias."""
    if case.spec.platform == "dgl":
        conv = dgl.nn.SAGEConv(*of_node.shape, "mean")
        names = "fc_neigh.weight", "fc_self.weight", "fc_self.bias"
    else:
        conv, names = pyg_nn.SAGEConv(*of_node.shape), ("lin_l.weight", "lin_r.weight", "lin_l.bias")
    return filled(case, conv, dict(zip(names, (of_mean.t(), of_node.t(), bias), strict=True)))


def build(case: Case, parameters: Sequence[Sequence[Tensor]]) -> Network:
    """Return the network on a case's platform, with copies of the parameters."""
    return Network([layer(case, *values) for values in parameters], kernel(case.spec.platform).run)
