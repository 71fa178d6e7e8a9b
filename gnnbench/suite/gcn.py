"""The three-layer graph convolutional network (Kipf and Welling, ICLR 2017): its widths and weights."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from .graphs.catalog import DATASETS
from .graphs.graph import Graph
from .network import glorot


def widths(graph: Graph, hidden: int) -> tuple[int, int, int, int]:
    """Return the feature widths before and after each layer.

    On the Planetoid data sets the second hidden layer has an eighth of the first one's width, as in the
    published profiles (1433 → 256 → 32 → 7 on Cora). On others both are equal.
    """
    dataset = DATASETS.get(graph.name.partition(":")[0])
    narrows = dataset is not None and dataset.family == "planetoid"
    return graph.num_features, hidden, max(1, hidden // 8) if narrows else hidden, graph.num_classes


def initial_weights(widths: Sequence[int], seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    """Return each layer's weight [in, out] by `glorot`, and zero bias [out]: float64 on the CPU."""
    generator = torch.Generator().manual_seed(seed)
    return [
        (glorot(fan_in, fan_out, generator), torch.zeros(fan_out, dtype=torch.float64))
        for fan_in, fan_out in pairwise(widths)
    ]
