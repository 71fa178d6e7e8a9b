"""How far two results are from each other, against what rounding may change."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 20
"""Numbers that are compared at once."""
_DIGITS = {"bfloat16": 8, "float8_e4m3fn": 4, "float8_e4m3fnuz": 4, "float8_e5m2": 3, "float8_e5m2fnuz": 3}
"""Binary digits of types that NumPy lacks, the leading one included."""
_MOVES = 16.0
"""So many times the change by moving the inputs is allowed at least: a call rounds intermediate values."""
_FEW = 3.0
"""A single number may by chance change little; it may be wrong by 1 + _FEW times as much."""
_ROUNDINGS = 8.0
"""So many units are allowed in any case, for the roundings of a few operations."""
_KEPT = 2.0
"""Long sums may lose half of the digits, less so many; by the change of moved inputs, one less."""


@dataclass(frozen=True)
class Closeness:
    """The differences of a head's numbers from a base's.

    Errors are in units in the last place of the base's largest value, in the type of the base. Where terms
    cancel so that it has only zeros, the unit is how much they change when the inputs move.
    """

    error: float
    """The largest one; infinity: other numbers are finite, or their type has no such unit, as integers."""
    allowed: float
    """What rounding may change."""
    share: float
    """Fraction of the numbers that differ."""
    place: tuple[int, ...]
    """Index of the largest error."""
    base: Any
    """The base's number there; `head` is the head's."""
    head: Any
    relative: float
    """The largest error, divided by the base's largest value."""

    @property
    def is_close(self) -> bool:
        """Whether rounding explains the differences."""
        return self.error <= self.allowed


def digits(kind: str) -> int | None:
    """Return the binary digits of a type of floating-point or complex numbers; None: it is another type."""
    if kind in _DIGITS:
        return _DIGITS[kind]
    dtype = np.dtype(kind)
    return int(np.finfo(dtype).nmant) + 1 if dtype.kind in "fc" else None


def compare(
    base: NDArray[Any],
    head: NDArray[Any],
    kind: str,
    *,
    others: Sequence[tuple[NDArray[Any], int]] = (),
    inputs: int = 0,
) -> Closeness:
    """Compare numbers of the same type and shape.

    Rounding errors are not known from outside, so they are estimated by experiment: `others` show how much
    the base's numbers change when its inputs move by one unit in the last place, or when it is called again.
    A multiple of the largest such change is allowed, and some units for the roundings of its operations. A
    sum of n terms may be wrong by n units (Higham, Accuracy and Stability of Numerical Algorithms, 4.2). If
    the terms have one sign, moving each at random changes the sum by about 1 / sqrt(n) of a unit, which tells
    n. If they cancel, n is not known, but rounding the partial sums changes the sum by about sqrt(n) times as
    much as moving the terms. n is at most the number of inputs, and half of the digits must stay.

    Args:
        base: the base's numbers.
        head: the head's.
        kind: their type.
        others: the base's numbers from other calls, and by how many units their inputs were moved, 1 if by
            none: rounding may hide what one unit changes, and the change by more is divided by their number.
        inputs: number of numbers among the inputs.
    """
    places = digits(kind)
    largest = max((_finite(one) for one in _blocks(base)), default=0.0)
    changes = (_largest(*both)[0] / units for other, units in others for both in _pairs(base, other))
    moved = max(changes, default=0.0)
    unit = math.ldexp(largest, 1 - places) if places else 0.0
    if places and not largest and moved < math.inf:
        unit = moved
    worst, where, differing, start = -1.0, 0, 0, 0
    for left, right in _pairs(base, head):
        error, at = _largest(left, right)
        differing += int(np.count_nonzero(_differs(left, right)))
        if error > worst:
            worst, where = error, start + at
        start += len(left)
    if worst > 0 and not unit:
        worst = math.inf
    most = 2 ** ((places or 0) / 2 - _KEPT)
    terms = min((unit / moved) ** 2 if moved else math.inf, inputs, most)
    moves = (_MOVES + min(math.sqrt(inputs), most / 2)) * (1 + _FEW / math.sqrt(max(base.size, 1)))
    place = tuple(int(one) for one in np.unravel_index(where, base.shape)) if base.size else ()
    return Closeness(
        error=max(worst, 0.0) / unit if unit else max(worst, 0.0),
        allowed=moves * moved / unit + _ROUNDINGS + terms if unit else 0.0,
        share=differing / max(base.size, 1),
        place=place,
        base=base[place] if base.size else None,
        head=head[place] if base.size else None,
        relative=max(worst, 0.0) / largest if largest else math.inf,
    )


def _blocks(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    flat = values.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        yield (
            block.astype(np.complex128 if block.dtype.kind == "c" else np.float64)
            if (
                block.dtype.kind in "fc" and block.dtype.itemsize < 16  # noqa: PLR2004 - not longer types
            )
            else block
        )


def _pairs(left: NDArray[Any], right: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    return zip(_blocks(left), _blocks(right), strict=True)


def _finite(values: NDArray[Any]) -> float:
    """Return the largest absolute value that is finite."""
    sizes = np.abs(values.astype(np.float64) if values.dtype.kind in "biu" else values)
    return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))


def _differs(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    if left.dtype.kind not in "fc":
        return np.asarray(left != right)
    return np.asarray((left != right) & ~(np.isnan(left) & np.isnan(right)))


def _largest(left: NDArray[Any], right: NDArray[Any]) -> tuple[float, int]:
    """Return the largest absolute difference and its index; infinity where one is not finite."""
    differs = _differs(left, right)
    if not differs.any():
        return 0.0, 0
    if left.dtype.kind in "biu":
        return 1.0, int(np.argmax(differs))
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.where(differs, np.abs(left - right), 0.0)
    errors[differs & ~np.isfinite(errors)] = np.inf
    at = int(np.argmax(errors))
    return float(errors[at]), at
