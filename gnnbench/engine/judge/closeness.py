"""How far two outputs are apart, compared with what rounding may change."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FEWEST, _SAMPLED = 8, 512
"""The median of a row or column is taken from at least and at most this many of its numbers."""
_DIGITS = {"bfloat16": 8, "float8_e4m3fn": 4, "float8_e4m3fnuz": 4, "float8_e5m2": 3, "float8_e5m2fnuz": 3}
"""Binary digits of types that NumPy lacks, the leading one included."""
_MOVES = 16.0
"""Least allowed multiple of the change from moved inputs, because a call rounds intermediate values."""
_FEW = 3.0
"""A single number may change little by chance, so its allowed multiple is 1 + _FEW times as large."""
_ROUNDINGS = 8.0
"""Units that are allowed in any case, for the roundings of a few operations."""
_KEPT = 2.0
"""Long sums may lose half of the digits minus this number, or minus one more by moved inputs."""


@dataclass(frozen=True)
class Closeness:
    """The differences of a head's numbers from a base's, in units in the last place.

    Where terms cancel so that all are zeros, the unit is how much they change when the inputs move.
    """

    error: float
    """The error that is farthest beyond what is allowed. Infinity if other numbers are finite, or the type
    has no units in the last place, such as integers."""
    allowed: float
    """The largest error that rounding explains."""
    share: float
    """Fraction of the numbers that differ."""
    place: tuple[int, ...]
    """Index of the largest error."""
    base: Any
    """The base's number at `place`; `head` is the head's."""
    head: Any
    relative: float
    """The largest error, divided by the base's largest value."""

    @property
    def is_close(self) -> bool:
        """Whether rounding explains the differences."""
        return self.error <= self.allowed


def digits(kind: str) -> int | None:
    """Return the binary digits of a floating-point or complex type. Returns None for another type."""
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
    is_gradient: bool = False,
) -> Closeness:
    """Compare numbers of the same type and shape, by the rule of docs/results.md.

    `others`: the base's numbers from other calls, each with the number of units by which its inputs were
    moved (1 if not at all). On sums see Higham, Accuracy and Stability of Numerical Algorithms, 4.2.
    """
    precision = digits(kind)
    if not base.ndim:
        flat = ((other.reshape(1), units) for other, units in others)
        closeness = compare(base.reshape(1), head.reshape(1), kind, others=list(flat), inputs=inputs)
        return replace(closeness, place=())
    if precision is None:
        differs = _differs(base, head).reshape(-1)
        index = int(np.argmax(differs)) if base.size else 0
        return _closeness(base, head, index, math.inf if differs.any() else 0.0, 0.0)
    changes = np.zeros(base.shape, base.real.dtype)
    for other, units in others:
        # A number that overflows or is NaN only with moved inputs says nothing about rounding.
        comparable = np.isfinite(other) | ~np.isfinite(base)
        changes = np.maximum(changes, np.where(comparable, _errors(base, other) / units, 0.0))
    changes, sizes = (
        np.maximum(values, np.max(values, initial=0.0) if is_gradient else _typical(values))
        for values in (changes, _sizes(base))
    )
    tiny = np.finfo(base.dtype).tiny  # below it, numbers have fewer digits
    unit = np.ldexp(np.maximum(sizes, tiny), 1 - precision)
    most = 2 ** (precision / 2 - _KEPT)
    factor = (_MOVES + min(math.sqrt(inputs), most / 2)) * (1 + _FEW / math.sqrt(max(base.size, 1)))
    with np.errstate(divide="ignore", over="ignore"):
        terms = np.full(1, most) if is_gradient else np.fmin((unit / changes) ** 2, min(inputs, most))
        allowed = factor * changes + (_ROUNDINGS + terms) * unit
    errors = _errors(base, head)
    if not base.size:
        return _closeness(base, head, 0, 0.0, 0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        excess = np.nan_to_num(errors / allowed, copy=False, nan=math.inf, posinf=math.inf)  # of infinities
    # Of equally large excesses, the one with the largest error.
    index = int(np.argmax(np.where(excess == excess.max(), errors, -1.0)))
    error, limit, step, change = (float(values.flat[index]) for values in (errors, allowed, unit, changes))
    step = step if sizes.any() else max(step, change)
    return _closeness(base, head, index, error / step, limit / step)


def _closeness(base: NDArray[Any], head: NDArray[Any], at: int, error: float, allowed: float) -> Closeness:
    place = tuple(int(index) for index in np.unravel_index(at, base.shape)) if base.size else ()
    largest = float(np.max(_sizes(base), initial=0.0))
    absolute = float(np.max(_errors(base, head), initial=0.0)) if base.dtype.kind in "fc" else math.inf
    return Closeness(
        error=error,
        allowed=allowed,
        share=int(np.count_nonzero(_differs(base, head))) / max(base.size, 1),
        place=place,
        base=base[place] if base.size else None,
        head=head[place] if base.size else None,
        relative=absolute / largest if largest else math.inf,
    )


def _typical(values: NDArray[Any]) -> NDArray[Any]:
    """Return a typical value for each number: of its row or column, or of all numbers if these are short.

    With more dimensions, this is the smallest of the medians of all slices that contain the number. Zeros do
    not count.
    """
    axes = [axis for axis, size in enumerate(values.shape) if size > 1 and values.size >= _FEWEST * size]
    if not axes:
        return np.broadcast_to(_median(values.reshape(1, -1)), (1,) * values.ndim)
    medians = []
    for axis in axes:
        slices = np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
        step = -(-slices.shape[1] // _SAMPLED)
        shape = [values.shape[axis] if dimension == axis else 1 for dimension in range(values.ndim)]
        medians.append(_median(slices[:, ::step]).reshape(shape))
    typical = medians[0]
    for median in medians[1:]:
        typical = np.minimum(typical, median)
    return typical


def _median(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the lower median of each row's finite numbers other than zero; 0 if a row has none."""
    ordered = np.sort(np.where((rows > 0) & np.isfinite(rows), rows, np.inf), axis=1)
    counts = np.count_nonzero(np.isfinite(ordered), axis=1)
    middle = ordered[np.arange(len(ordered)), np.maximum(counts - 1, 0) // 2] if ordered.size else counts
    return np.where(counts > 0, middle, 0.0)


def _errors(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return the absolute differences; infinity where unequal numbers are not both finite."""
    left, right = _wide(left), _wide(right)
    differs = _differs(left, right)
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.where(differs, np.abs(left - right), 0.0)
    errors[differs & ~np.isfinite(errors)] = np.inf
    return np.asarray(errors)


def _sizes(values: NDArray[Any]) -> NDArray[Any]:
    """Return the absolute values, and zero where they are not finite."""
    sizes = np.abs(_wide(values))
    return np.where(np.isfinite(sizes), sizes, 0.0)


def _wide(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(np.float32) if values.dtype.itemsize < 4 else values  # noqa: PLR2004 - bytes


def _differs(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    if left.dtype.kind not in "fc":
        return np.asarray(left != right)
    return np.asarray((left != right) & ~(np.isnan(left) & np.isnan(right)))


_OF_INPUT = re.compile("(gradient of |)(.*?)( by the output.*| after the calls?|)", re.DOTALL)


def input_of(part: str) -> str:
    """Return the place of the input that a part of an output belongs to: `x` for `gradient of x`."""
    return _split(part)[1]


def as_in_base(base: Mapping[str, Any], head: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the head's answer with the base's places of inputs, and the head's part names by new name.

    An input that the base lacks is matched with one that the head lacks if both have the same content.
    """
    inputs = [place for place in base["inputs"] if place not in head["inputs"]]
    places: dict[str, str] = {}
    for place, content in head["inputs"].items():
        matches = (item for item in inputs if place not in base["inputs"] and base["inputs"][item] == content)
        if (former := next(matches, None)) is not None:
            inputs.remove(former)
            places[place] = former

    def renamed(part: str) -> str:
        prefix, place, suffix = _split(part)
        return f"{prefix}{places.get(place, place)}{suffix}"

    answer = {
        **head,
        "inputs": {renamed(place): content for place, content in head["inputs"].items()},
        "writable": [renamed(place) for place in head["writable"]],
        "calls": [
            {**call, "parts": {renamed(part): item for part, item in call["parts"].items()}}
            for call in head["calls"]
        ],
    }
    return answer, {renamed(part): part for call in head["calls"] for part in call["parts"]}


def _split(part: str) -> tuple[str, str, str]:
    match = _OF_INPUT.fullmatch(part)
    assert match
    return match[1], match[2], match[3]
