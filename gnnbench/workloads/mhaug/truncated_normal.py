"""Normal distributions truncated to [0, 1], on the tensors' device.

SciPy's truncnorm computes the same on the host. The mean must be within [0, 1]: then the ends are on either
side of it, and differences of erf do not lose precision.
"""

import math

import torch
from torch import Tensor


def quantile(uniform: Tensor, mean: Tensor, sigma: Tensor) -> Tensor:
    """Return the quantiles `uniform` of the distribution: float64, within [0, 1].

    Args:
        uniform: float64, in [0, 1).
        mean: float64, in [0, 1], of the normal before truncation.
        sigma: float64, positive: its standard deviation.
    """
    low, high = torch.special.ndtr(-mean / sigma), torch.special.ndtr((1 - mean) / sigma)
    return (mean + sigma * torch.special.ndtri(low + uniform * (high - low))).clamp(0, 1)


def log_density(value: Tensor, mean: Tensor, sigma: Tensor) -> Tensor:
    """Return the log density at a value in [0, 1]: float64."""
    root = sigma * math.sqrt(2)
    inside = (torch.erf((1 - mean) / root) + torch.erf(mean / root)) / 2
    return -(((value - mean) / root) ** 2) - torch.log(sigma * math.sqrt(2 * math.pi) * inside)
