"""The network that is trained on augmented graphs: a GCN of two layers (Kipf and Welling, ICLR 2017)."""

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from gnnbench.mhaug.chain import Edges
from gnnbench.mhaug.settings import Settings


class GCN(nn.Module):
    """Two convolutions, with ReLU and dropout between them, and dropout of the features before."""

    def __init__(self, num_features: int, num_classes: int, settings: Settings) -> None:
        """Draw the weights from torch's own generator."""
        super().__init__()
        self.first = GCNConv(num_features, settings.hidden)
        self.second = GCNConv(settings.hidden, num_classes)
        self.dropout = settings.dropout

    def forward(
        self,
        x: Tensor,
        edges: Edges,
        weight: Tensor | None = None,
        scale: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return the logits [n, C].

        Args:
            x: features [n, F].
            edges: the original graph.
            weight: float [m] of the entries: one that was dropped weighs 0, in sums and degrees alike.
            scale: float [n] of the nodes' features.
            generator: of the dropout, which is applied while training.
        """
        edge_index = torch.stack((edges.source, edges.target))
        if scale is not None:
            x = x * scale.unsqueeze(1)
        x = self.first(self._drop(x, generator), edge_index, weight).relu()
        logits: Tensor = self.second(self._drop(x, generator), edge_index, weight)
        return logits

    def _drop(self, x: Tensor, generator: torch.Generator | None) -> Tensor:
        """Zero entries at random, and scale up the others (Srivastava et al., JMLR 15, 2014)."""
        if not self.training or not self.dropout:
            return x
        kept = torch.rand(x.shape, generator=generator, device=x.device) >= self.dropout
        return x * kept / (1 - self.dropout)


def row_normalized(x: Tensor) -> Tensor:
    """Return features [n, F] over the sum of each row, where that is not 0."""
    total = x.sum(dim=1, keepdim=True)
    return x / torch.where(total == 0, 1, total)
