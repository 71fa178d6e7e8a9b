"""Types for the annotations in operations, whose modules import torch lazily: see `libraries`."""

from typing import TYPE_CHECKING, Any

__all__ = ["Case", "Chosen", "DGLGraph", "Edges", "Graph", "Hop", "Layer", "Module", "Network"]
__all__ += ["Optimizer", "Tensor"]

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from torch.optim import Optimizer

    from .case import Case
    from .graphs.graph import Graph
    from .network import Layer, Network
    from .platforms import Chosen, Edges
    from .platforms.dgl import DGLGraph
    from .sampled import Hop
else:
    Case = Chosen = DGLGraph = Edges = Graph = Hop = Layer = Module = Network = Optimizer = Tensor = Any
