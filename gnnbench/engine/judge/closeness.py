"""Compares the difference between two outputs with the errors that rounding may cause.

To find out how large these are, the base also runs with inputs moved by a few units in the last place.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FEWEST, _SAMPLED = 8, 512
"""The median of a row or column needs _FEWEST numbers. It is computed from _SAMPLED of them at most."""
_SIMILAR = 32
"""How many numbers of similar size are compared with each other if slices are short."""
_DIGITS = {"bfloat16": 8, "float8_e4m3fn": 4, "float8_e4m3fnuz": 4, "float8_e5m2": 3, "float8_e5m2fnuz": 3}
"""Binary digits of types that NumPy lacks, including the leading digit."""
_LEAST_MULTIPLE = 16.0
"""At least this many times the change from moved inputs is allowed, as a call rounds its own values too."""
_FEW_NUMBERS = 3.0
"""A single number may change little by chance, so its multiple is 1 + _FEW_NUMBERS times as large."""
_ROUNDINGS = 8.0
"""An error of this many units is always allowed for a few roundings; in types with few digits, fewer."""
_SPARED_DIGITS = 2.0
"""A long sum may lose half of its digits minus this number. If inputs are moved, it may lose one less."""


@dataclass(frozen=True)
class Closeness:
    """The differences of the head's numbers from the base's numbers, in units in the last place.

    If all numbers of the base are zeros, because terms cancel, the unit is the change from moved inputs.
    """

    error: float
    """The error that is largest relative to its limit. Infinity if only one of two numbers is finite, or if
    numbers differ that have no last place, such as integers."""
    allowed: float
    """The largest error that rounding can explain."""
    share: float
    """Fraction of the numbers that differ."""
    place: tuple[int, ...]
    """Index of the numbers with this error."""
    base: Any
    """The base's number at `place`; `head` is the head's number there."""
    head: Any
    relative: float
    """The largest absolute error, divided by the base's largest absolute value."""

    @property
    def is_close(self) -> bool:
        """Whether rounding explains the differences."""
        return self.error <= self.allowed


def digits(kind: str) -> int | None:
    """Return the number of binary digits of a floating-point or complex type. None for other types."""
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

    `others`: the base's numbers from other calls. Each call has the number of units in the last place by
    which its inputs were moved, or 1 if they were not moved. `inputs`: number of elements of all inputs. On
    the errors of sums see Higham, Accuracy and Stability of Numerical Algorithms, 4.2.
    """
    precision = digits(kind)
    if precision is None:
        differs = _differs(base, head).reshape(-1)
        index = int(np.argmax(differs)) if base.size else 0
        return _closeness(base, head, index, math.inf if differs.any() else 0.0, 0.0)
    changes = np.zeros(base.shape, base.real.dtype)
    for other, units in others:
        # A number that overflows or is NaN only with moved inputs says nothing about rounding.
        comparable = np.isfinite(other) | ~np.isfinite(base)
        changes = np.maximum(changes, np.where(comparable, _errors(base, other) / units, 0.0))
    sizes = _sizes(base)
    changes, sizes = (
        np.maximum(values, np.max(values, initial=0.0) if is_gradient else _typical(values, sizes))
        for values in (changes, sizes)
    )
    tiny = np.finfo(base.dtype).tiny  # smaller numbers have fewer digits
    unit = np.ldexp(np.maximum(sizes, tiny), 1 - precision)
    most = 2 ** (precision / 2 - _SPARED_DIGITS)
    multiple, roundings = (min(number, max(most, 1.0)) for number in (_LEAST_MULTIPLE, _ROUNDINGS))
    factor = multiple + min(math.sqrt(inputs), most / 2)
    factor *= 1 + _FEW_NUMBERS / math.sqrt(max(base.size, 1))
    with np.errstate(divide="ignore", over="ignore"):
        terms = most if is_gradient else np.fmin((unit / changes) ** 2, min(inputs, most))
        allowed = factor * changes + (roundings + terms) * unit
    errors = _errors(base, head)
    if not base.size:
        return _closeness(base, head, 0, 0.0, 0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        excess = np.asarray(errors / allowed)  # inf / inf = NaN
    excess = np.nan_to_num(excess, copy=False, nan=math.inf, posinf=math.inf)
    # If several excesses are the largest, take the one with the largest error.
    index = int(np.argmax(np.where(excess == excess.max(), errors, -1.0)))
    error, limit, step, change = (float(values.flat[index]) for values in (errors, allowed, unit, changes))
    step = step if sizes.any() else max(step, change)
    return _closeness(base, head, index, error / step, limit / step)


def _closeness(base: NDArray[Any], head: NDArray[Any], index: int, error: float, allowed: float) -> Closeness:
    """Return the closeness of numbers. `index`: the flat index of `error`. `allowed`: its limit."""
    place = tuple(map(int, np.unravel_index(index, base.shape))) if base.size else ()
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


def _typical(values: NDArray[Any], sizes: NDArray[Any]) -> NDArray[Any]:
    """Return for each number the typical value of the numbers around it, without zeros.

    Errors are judged by this value. It is the smallest of the medians of all slices that contain the number,
    such as its row and its column. If slices are short, it is the median of numbers of similar `sizes`.
    """
    axes = [axis for axis, size in enumerate(values.shape) if size > 1 and values.size >= _FEWEST * size]
    if not axes:
        return _typical_of_similar(values.reshape(-1), sizes.reshape(-1)).reshape(values.shape)
    medians = []
    for axis in axes:
        slices = np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
        step = -(-slices.shape[1] // _SAMPLED)
        shape = [values.shape[axis] if dimension == axis else 1 for dimension in range(values.ndim)]
        medians.append(_median(slices[:, ::step]).reshape(shape))
    return reduce(np.minimum, medians)


def _typical_of_similar(values: NDArray[Any], sizes: NDArray[Any]) -> NDArray[Any]:
    """Return the median of each number's group; the others, such as zeros, get the median of all numbers.

    Groups of _SIMILAR numbers are formed from the largest size downwards.
    """
    result = np.full(len(values), _median(values.reshape(1, -1))[0], values.dtype)
    groups = np.count_nonzero(sizes) // _SIMILAR
    if groups > 1:
        order = np.argsort(-sizes)[: groups * _SIMILAR].reshape(groups, _SIMILAR)
        result[order] = _median(values[order])[:, None]
    return result


def _median(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the lower median of each row, without zeros and infinities; 0 if a row has no other numbers."""
    ordered = np.sort(np.where((rows > 0) & np.isfinite(rows), rows, np.inf), axis=1)
    counts = np.count_nonzero(np.isfinite(ordered), axis=1)
    middle = ordered[np.arange(len(ordered)), np.maximum(counts - 1, 0) // 2] if ordered.size else counts
    return np.where(counts > 0, middle, 0.0)


def _errors(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return the absolute differences. Infinity where two numbers differ and one is not finite."""
    left, right = _wide(left), _wide(right)
    differs = _differs(left, right)
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.where(differs, np.abs(left - right), 0.0)
    errors[differs & ~np.isfinite(errors)] = np.inf
    return np.asarray(errors)


def _sizes(values: NDArray[Any]) -> NDArray[Any]:
    """Return the absolute values. Zero for a number that is not finite."""
    sizes = np.abs(_wide(values))
    return np.where(np.isfinite(sizes), sizes, 0.0)


def _wide(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers of at least 32 bits, so that differences do not overflow."""
    return values.astype(np.float32) if values.dtype.itemsize < 4 else values  # noqa: PLR2004 - bytes


def _differs(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which numbers differ; NaN equals NaN."""
    if left.dtype.kind not in "fc":
        return np.asarray(left != right)
    return np.asarray((left != right) & ~(np.isnan(left) & np.isnan(right)))


_OF_INPUT = re.compile("(gradient of |)(.*?)( by the output.*| after the calls?|)", re.DOTALL)


def input_of(part: str) -> str:
    """Return the name of the input to which a part of an output belongs: `x` for `gradient of x`."""
    return _split(part)[1]


def as_in_base(base: Mapping[str, Any], head: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the head's report with the base's names of renamed inputs, and the head's name of each part."""
    # An input counts as renamed if each side has its content under a name that the other side lacks.
    remaining = [name for name in base["inputs"] if name not in head["inputs"]]
    base_names: dict[str, str] = {}
    for name, content in head["inputs"].items():
        same = (
            other for other in remaining if name not in base["inputs"] and base["inputs"][other] == content
        )
        if (base_name := next(same, None)) is not None:
            remaining.remove(base_name)
            base_names[name] = base_name

    def rename(part: str) -> str:
        prefix, name, suffix = _split(part)
        return f"{prefix}{base_names.get(name, name)}{suffix}"

    answer = {
        **head,
        "inputs": {rename(name): content for name, content in head["inputs"].items()},
        "writable": [rename(name) for name in head["writable"]],
        "calls": [
            {**call, "parts": {rename(part): item for part, item in call["parts"].items()}}
            for call in head["calls"]
        ],
    }
    return answer, {rename(part): part for call in head["calls"] for part in call["parts"]}


def _split(part: str) -> tuple[str, str, str]:
    """Split the name of a part of an output into the name of its input, and the text before and after it."""
    match = _OF_INPUT.fullmatch(part)
    assert match
    return match[1], match[2], match[3]
