"""The algorithm's constants, with the published defaults."""

from typing import NamedTuple


class Part(NamedTuple):
    """The constants for edges, or for nodes."""

    mean: float
    """μ: the target mean of each node's change."""
    weight: float = 1.0
    """λ1, the weight in the target; with 0 the target is flat."""
    scale: float = 100.0
    """a: how much the target's standard deviation grows with the model's uncertainty."""
    offset: float = 1.0
    """b: the target's standard deviation at no uncertainty."""
    sigma: float = 0.03
    """σ of the truncated normal that proposes the dropped fraction."""


class Settings(NamedTuple):
    """The constants for edges, nodes, loss and model."""

    edges: Part = Part(mean=0.6)
    nodes: Part = Part(mean=0.2)
    count_weight: float = 0.0
    """λ2: in the proposal density, the weight of the number of ways to choose what is kept."""
    divergence_weight: float = 2.0
    """kl: weight of the divergence between the predictions on the current state and on the proposal."""
    entropy_weight: float = 0.2
    """h: weight of the entropy of the predictions on the whole graph."""
    hidden: int = 64
    dropout: float = 0.5
    learning_rate: float = 0.005
    weight_decay: float = 5e-4

    @property
    def parts(self) -> tuple[Part, Part]:
        """Edges, nodes: the order of all pairs in this package."""
        return self.edges, self.nodes
