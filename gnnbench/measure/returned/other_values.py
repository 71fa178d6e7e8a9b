"""Other floating-point numbers in place of the given ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def new(values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return other values of the same kind: moved to other places, and up to twice as small.

    Signs, zeros, and limits such as those of probabilities stay. Whole numbers, which may count something,
    are only moved, unless all are equal.

    Args:
        values: floating-point numbers of any shape; the result has their shape and type.
        rng: decides by how much each is smaller.
    """
    moved = np.roll(values.reshape(-1), values.size // 3 + 1).reshape(values.shape)
    if np.array_equal(values, np.round(values)) and not np.array_equal(values, moved):
        return moved
    return (moved * (1 - rng.random(values.shape) / 2)).astype(values.dtype)


def moved(values: NDArray[Any], kind: str, rng: np.random.Generator) -> NDArray[Any]:
    """Move floating-point numbers up or down by one unit in the last place of their type; zeros stay.

    Args:
        values: floating-point numbers of any shape; the result has their shape and type.
        kind: the type of the tensor that they are from, which NumPy may lack: `torch.bfloat16`.
        rng: decides which go up.
    """
    digits = {"torch.bfloat16": 8}.get(kind) or np.finfo(values.dtype).nmant + 1
    wide = values.astype(np.longdouble if values.dtype == np.longdouble else np.float64)
    _, exponents = np.frexp(wide)
    unit = np.where(wide == 0, 0.0, np.ldexp(1.0, exponents - digits))
    return (wide + np.where(rng.random(values.shape) < 0.5, unit, -unit)).astype(values.dtype)  # noqa: PLR2004
