"""Input values that are equal on every platform and machine, without random numbers."""

import torch
from torch import Tensor

_PRIME = 8_388_593
"""The largest prime below 2**23, so that the values of `pattern` stay distinct in float32."""
_BASE = 5_180_493
"""A large, arbitrary factor from each column to the next, so that their correlation is near zero."""
_VALUES_AT_ONCE = 1 << 22
"""Number of values that `pattern` computes at a time, so that it needs little additional memory."""


def pattern(rows: int, columns: int, dtype: torch.dtype = torch.float64, shift: float = 0.0) -> Tensor:
    """Return fixed values [rows, columns]; each column has zero mean, unit variance and distinct values.

    Entry (i, j) is (i + 1) b**(j + 1) mod p, scaled. Integer arithmetic gives equal values on every machine.
    Up to 8.4 million rows have no ties, so the gradient of a maximum is unique; random float32 values would
    tie. Values are computed in float64, some rows at a time.
    """
    multiplier = torch.tensor([pow(_BASE, exponent, _PRIME) for exponent in range(1, columns + 1)])
    values = torch.empty(rows, columns, dtype=dtype)
    step = max(1, _VALUES_AT_ONCE // max(1, columns))
    for start in range(0, rows, step):
        number = torch.arange(start + 1, min(start + step, rows) + 1).unsqueeze(1)
        integers = number % _PRIME * multiplier % _PRIME
        values[start : start + step] = (integers.double() / (_PRIME / 2) - 1) * 3**0.5 + shift
    return values


def gradient_for(values: Tensor, entries: Tensor | None = None) -> Tensor:
    """Return a fixed gradient for an output [N, F], [N] or [], or for the weights [M] of a sparse matrix.

    `entries` are the indices of the weights, int64 [2, M]. A weight's gradient then depends on its indices
    only, not on its position, because libraries list the entries in different orders.
    """
    if values.is_complex():
        real = gradient_for(values.real, entries)
        return torch.complex(real, real.flip(0) / 2 if entries is None and real.dim() else real / 2)
    if entries is not None:
        integers = (entries[0] * _BASE + entries[-1] * (_BASE // 2)) % _PRIME
        weights = (integers.double() / _PRIME + 0.5).to(values)
        return weights.view(-1, *(1,) * (values.dim() - 1)).expand_as(values)
    if values.dim() == 0:
        return torch.ones_like(values)
    return pattern(len(values), values[:1].numel(), values.dtype).reshape(values.shape).to(values.device)
