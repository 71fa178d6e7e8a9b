"""The algorithm's constants, with the published defaults."""

import math
from dataclasses import dataclass

from ...errors import UsageError


@dataclass(frozen=True)
class Part:
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


@dataclass(frozen=True)
class Settings:
    """The constants for edges, nodes, loss and model.

    Raises:
        UsageError: a standard deviation is not positive, a weight is negative, or the dropout is out of
            range.
    """

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

    def __post_init__(self) -> None:
        for name, part in (("edges", self.edges), ("nodes", self.nodes)):
            positive = {"sigma": part.sigma, "offset": part.offset}
            for field, value in positive.items():
                if not (value > 0 and math.isfinite(value)):
                    raise UsageError(f"{name}.{field} is {value}; it must be a positive number")
            not_negative = {"weight": part.weight, "scale": part.scale}
            for field, value in not_negative.items():
                if not (value >= 0 and math.isfinite(value)):
                    raise UsageError(f"{name}.{field} is {value}; it must not be negative")
        if not 0 <= self.dropout < 1:
            raise UsageError(f"dropout is {self.dropout}; it must be at least 0 and below 1")

    @property
    def parts(self) -> tuple[Part, Part]:
        """Edges, nodes: the order of all pairs in this package."""
        return self.edges, self.nodes
