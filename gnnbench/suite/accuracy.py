"""Compares a kernel's output and gradients with the float64 reference."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .case import Case
from .kept_reference import stored
from .spec import AUTOCAST

TOLERANCE = {"float64": 1e-10, "float32": 1e-4, "float16": 0.02, "bfloat16": 0.1, AUTOCAST: 0.1}
"""Allowed error relative to the row's maximum, or to the root mean square of all entries if that is larger.

bfloat16 rounds by up to 0.4 % at each addition, and the libraries' scatter kernels accumulate in bfloat16.
"""

_LARGEST_TOLERANCE = 0.1
"""With a larger tolerance, wrong results would pass."""
_UNIT_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
_UNIT_ROUNDOFF[AUTOCAST] = _UNIT_ROUNDOFF["bfloat16"]
_TERM_ROUNDING = {dtype: 4 * roundoff for dtype, roundoff in _UNIT_ROUNDOFF.items()}
"""Allowed error of a sum whose terms cancel, relative to its largest term: four unit roundoffs."""

KINK_TOLERANCE = {"float64": 1e-10, "float32": 2e-3, "float16": 0.02, "bfloat16": 0.1, AUTOCAST: 0.1}
"""Allowed norm of a gradient's error in a network with ReLU, relative to the gradient's norm.

Rounding can move a pre-activation across zero, the kink of ReLU, which adds or removes a part of the
gradient, so single entries are not comparable. On Cora and on the synthetic PubMed and ogbn-arxiv, the norm
of the error was up to 1.5e-4 in float32 and 5e-2 in bfloat16.
"""


class MismatchError(AssertionError):
    """A kernel's output differs from the reference."""


def tolerance(case: Case) -> float:
    """Return TOLERANCE or, if it is larger, the rounding error of a sum at the node with the most neighbours.

    Adding n numbers one after another has an error of up to n unit roundoffs (Higham, Accuracy and Stability
    of Numerical Algorithms, 4.2). With 15,683 neighbours, torch_scatter's softmax was off by 2e-4 in float32.
    """
    base = TOLERANCE[case.spec.dtype]
    return max(base, min(_UNIT_ROUNDOFF[case.spec.dtype] * case.graph.max_degree, _LARGEST_TOLERANCE))


def check_type(case: Case, values: Tensor, expected: Tensor) -> None:
    """Raise MismatchError if an output does not have the case's device and dtype."""
    if values.device.type != case.spec.device:
        raise MismatchError(f"the output is on {values.device}, not on {case.spec.device}")
    # Under autocast, PyTorch decides which operators return bfloat16.
    dtypes = [case.dtype, *([torch.bfloat16] if case.spec.dtype == AUTOCAST else [])]
    if expected.is_complex():
        dtypes = [dtype.to_complex() for dtype in dtypes]
    if (expected.is_floating_point() or expected.is_complex()) and values.dtype not in dtypes:
        raise MismatchError(f"the output is {values.dtype}, not {dtypes[0]}")


def agree(case: Case, value: Any, reference: Any) -> bool:
    """Return whether two arrays or plain values are equal, or within TOLERANCE if floating-point."""
    computed, expected = np.asarray(value), np.asarray(reference)
    if computed.shape != expected.shape or computed.dtype.kind != expected.dtype.kind:
        return False
    if computed.dtype.kind in "fc":
        return np.allclose(computed, expected, rtol=TOLERANCE[case.spec.dtype], atol=0, equal_nan=True)
    return np.array_equal(computed, expected)


def compare(
    case: Case,
    what: str,
    computed: Tensor,
    expected: Tensor,
    largest: float,
    ties: Callable[..., Tensor] | None = None,
) -> None:
    """Compare two tensors entry by entry; if they differ, raise a MismatchError about `what`.

    Each entry is a sum of terms of at most `largest`; the rounding error of these terms is allowed even where
    they cancel. `ties` returns which entries of a gradient have several correct values: see `tied`.
    """
    computed, expected = computed.detach().cpu(), expected.detach()
    is_sparse = [tensor.layout != torch.strided for tensor in (computed, expected)]
    if is_sparse[0] != is_sparse[1]:
        layouts = [str(tensor.layout).removeprefix("torch.") for tensor in (computed, expected)]
        raise MismatchError(
            f"{what} is {layouts[0]}, and the reference is {layouts[1]}: return the same layout from both"
        )
    if is_sparse[1] and computed.shape == expected.shape:
        computed, expected = computed.to_sparse_coo().coalesce(), expected.to_sparse_coo().coalesce()
        if not torch.equal(computed.indices(), expected.indices()):
            raise MismatchError(
                f"{what} has entries at other positions than the reference "
                f"({computed.indices().size(1)} entries, reference {expected.indices().size(1)})"
            )
        computed, expected = computed.values(), expected.values()
    if computed.shape != expected.shape:
        shapes = f"{tuple(computed.shape)}, the reference {tuple(expected.shape)}"
        raise MismatchError(f"{what} has shape {shapes}")
    if not (expected.is_floating_point() or expected.is_complex()):
        _compare_exactly(what, computed, expected)
        return
    if not expected.numel():
        return
    error = _error(computed, expected)
    finite = expected.where(expected.isfinite(), 0).abs()
    row = finite.amax(dim=1, keepdim=True) if expected.dim() > 1 else finite
    scale = row.clamp(min=finite.square().mean().sqrt().item()).expand_as(error)
    allowed_errors = (tolerance(case) * scale).clamp(min=_TERM_ROUNDING[case.spec.dtype] * largest)
    case.errors.append((error / allowed_errors).nan_to_num().max().item())
    excess = error - allowed_errors
    wrong = ~(excess <= 0)  # written so that NaN is wrong
    if ties and bool(wrong.any()):
        wrong &= ~ties(wrong, computed.to(expected.dtype), expected, allowed_errors)
    if bool(wrong.any()):
        excess = excess.nan_to_num(torch.inf).where(wrong, 0.0)
        worst = int(excess.argmax())
        position = tuple(map(int, np.unravel_index(worst, error.shape)))
        worst_error, value, reference, allowed = (
            tensor.reshape(-1)[worst].item() for tensor in (error, computed, expected, allowed_errors)
        )
        raise MismatchError(
            f"{what} is wrong: largest error {worst_error:.3g} at {position}, where it is "
            f"{value:.6g} and the reference is {reference:.6g}; allowed {allowed:.3g}"
        )


def _compare_exactly(what: str, computed: Tensor, expected: Tensor) -> None:
    """Raise MismatchError unless `computed`, of any dtype, equals integers or booleans."""
    inexact = computed.is_floating_point() or computed.is_complex()
    differences = (precise(computed) != expected if inexact else computed.long() != expected.long()).nonzero()
    if len(differences):
        first = tuple(differences[0].tolist())
        raise MismatchError(
            f"{what} is wrong at {first}, where it is {computed[first]} and the reference is "
            f"{expected[first]}; {len(differences)} of {expected.numel()} values differ"
        )


def compare_network(case: Case, gradients: Sequence[Tensor], references: Sequence[Tensor]) -> None:
    """Compare a network's gradients by the norms of their errors, relative to the largest norm in a group.

    Each matrix is a group of its own. All biases are one group, because the terms of the last bias's gradient
    nearly cancel. Attention vectors of one shape are one group, because the terms for target nodes cancel
    wherever LeakyReLU is linear: a softmax does not change if all its entries are shifted.
    """
    norms: dict[object, float] = {}
    for index, gradient in enumerate(references):
        group = _group(index, gradient)
        norms[group] = max(norms.get(group, 0.0), gradient.where(gradient.isfinite(), 0).norm().item())
    for index, (gradient, expected) in enumerate(zip(gradients, references, strict=True)):
        error = _error(gradient.detach().cpu(), expected).norm().item()
        floor = _TERM_ROUNDING[case.spec.dtype] * max(norms.values())  # if all terms of a group cancel
        allowed = max(KINK_TOLERANCE[case.spec.dtype] * norms[_group(index, expected)], floor)
        if not error <= allowed:  # written so that NaN fails
            raise MismatchError(
                f"the gradient of input tensor {index} is wrong: its error has norm {error:.3g}; "
                f"allowed {allowed:.3g}"
            )


def _group(index: int, parameter: Tensor) -> object:
    """Return a key for the group of a parameter: see `compare_network`."""
    return {1: "bias", 2: index}.get(parameter.dim(), parameter.shape)


def _error(computed: Tensor, expected: Tensor) -> Tensor:
    """Return the absolute errors; 0 where both are the same infinity or both are NaN."""
    computed = computed.to(expected.dtype)
    equal = (computed == expected) | (computed.isnan() & expected.isnan())
    return (computed - expected).abs().where(~equal, 0)


def largest_of(tensors: Sequence[Tensor]) -> float:
    """Return the largest finite absolute value in the tensors, or 0 if there is none."""
    sizes = (flat(tensor.detach()).abs() for tensor in tensors if tensor.numel())
    return max((tensor.where(tensor.isfinite(), 0).max().item() for tensor in sizes), default=0.0)


def flat(tensor: Tensor) -> Tensor:
    """Return a dense tensor itself, the values of a sparse tensor, or all values of a nested tensor."""
    if tensor.is_nested:
        return torch.cat([row.flatten() for row in tensor.detach().unbind()])
    return stored(tensor)[1]


def precise(tensor: Tensor) -> Tensor:
    """Return a copy on the CPU, with floating-point numbers in float64 and complex ones in complex128."""
    dtype = torch.complex128 if tensor.is_complex() else tensor.dtype
    dtype = torch.float64 if tensor.is_floating_point() else dtype
    return tensor.detach().to("cpu", dtype, copy=True)
