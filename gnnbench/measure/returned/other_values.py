"""Other floating-point numbers in place of the given ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def new(values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return other values of the same kind: moved to other places, and up to twice as small.

    Signs, and limits such as those of probabilities, stay. Whole numbers, which may count something, are only
    moved, unless all are equal; zeros among others keep their places, as in a triangular matrix. What is
    sorted along the last axis is sorted again. Symmetric matrices stay so, and positive definite ones too:
    their rows and columns are moved and scaled alike.

    Args:
        values: floating-point numbers of any shape; the result has their shape and type.
        rng: decides by how much each is smaller.
    """
    if order := _order(values):
        return _sorted((values * (1 - rng.random(values.shape) / 2)).astype(values.dtype), order)
    whole = np.array_equal(values, np.round(values))
    if _is_symmetric(values):
        places = np.roll(np.arange(values.shape[-1]), values.shape[-1] // 3 + 1)
        factors = np.sqrt(1 - rng.random(values.shape[-1]) / 2)
        moved, scale = values[..., places[:, None], places], np.outer(factors, factors)
    else:
        flat = values.reshape(-1)
        chosen = np.ones(flat.shape, bool) if whole else flat != 0
        moved, scale = flat.copy(), 1 - rng.random(values.shape) / 2
        moved[chosen] = np.roll(flat[chosen], values.size // 3 + 1)
        moved = moved.reshape(values.shape)
    return moved if whole and not np.array_equal(values, moved) else (moved * scale).astype(values.dtype)


def moved(values: NDArray[Any], kind: str, rng: np.random.Generator, units: int = 1) -> NDArray[Any]:
    """Move floating-point numbers up or down by some units in the last place of their type; zeros stay.

    Args:
        values: floating-point numbers of any shape; the result has their shape and type.
        kind: the type of the tensor that they are from, which NumPy may lack: `torch.bfloat16`.
        rng: decides which go up.
        units: at most so many: types with few digits keep three quarters of them.
    """
    digits = {"torch.bfloat16": 8}.get(kind) or np.finfo(values.dtype).nmant + 1
    wide = values.astype(np.longdouble if values.dtype == np.longdouble else np.float64)
    _, exponents = np.frexp(wide)
    unit = np.where(wide == 0, 0.0, min(units, 2 ** (digits // 4)) * np.ldexp(1.0, exponents - digits))
    found = (wide + np.where(rng.random(values.shape) < 0.5, unit, -unit)).astype(values.dtype)  # noqa: PLR2004
    return _sorted(found, _order(values))


def _order(values: NDArray[Any]) -> int:
    """Return 1 if numbers increase along the last axis, -1 if they decrease, and 0 if they do neither."""
    left, right = values[..., :-1], values[..., 1:]
    if np.array_equal(left, right):
        return 0
    return int(bool((left <= right).all())) - int(bool((left >= right).all()))


def _sorted(values: NDArray[Any], order: int) -> NDArray[Any]:
    return np.sort(values, axis=-1)[..., ::order] if order else values


def _is_symmetric(values: NDArray[Any]) -> bool:
    if values.ndim < 2 or not values.shape[-2] == values.shape[-1] > 1:  # noqa: PLR2004 - no matrix
        return False
    return np.array_equal(values, np.swapaxes(values, -2, -1))
