"""Where a gradient is not unique, because a maximum has several entries."""

from collections.abc import Callable

import torch
from torch import Tensor

_STEP = 1e-12
"""Relative to an entry, or to the root mean square of all: so little changes no other gradient."""
_MOST_ROUNDS = 32
"""Each finds one more of equal entries, or all of them if the reference shares the gradient among them."""


def tied(
    start: Tensor,
    again: Callable[[], Tensor],
    wrong: Tensor,
    found: Tensor,
    expected: Tensor,
    allowed: Tensor,
) -> Tensor:
    """Return which entries of a gradient jump if the entries where it is wrong are moved a little.

    Moving an entry up or down decides every tie that it is part of, so that both ways of choosing are seen.

    Args:
        start: the reference's argument; it is moved in place, and back.
        again: computes the gradient of the moved argument.
    """
    jumps = torch.zeros_like(wrong)
    before = start.detach().clone()
    size = _STEP * before.abs().clamp(min=before.abs().square().mean().sqrt().item())
    size *= 1 + torch.rand(size.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    side = (found.abs() - expected.abs()).sign()
    try:
        for _ in range(_MOST_ROUNDS):
            way = torch.where(wrong & ~jumps & found.isfinite(), side * size, 0.0)
            seen = jumps.clone()
            for step in (way, -way):
                with torch.no_grad():
                    start.copy_(before + step)
                jumps |= (again() - expected).abs() > allowed
            if torch.equal(seen, jumps) or not bool((wrong & ~jumps).any()):
                break
    finally:
        with torch.no_grad():
            start.copy_(before)
    return jumps & found.isfinite()
