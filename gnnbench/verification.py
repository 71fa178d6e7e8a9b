"""Same work first: a kernel's output and gradients against the float64 reference."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gnnbench.case import Case
from gnnbench.platforms import PlatformModule
from gnnbench.reference import Reference
from gnnbench.spec import FORWARD, FORWARD_BACKWARD, STEP

TOLERANCE = {"float64": 1e-10, "float32": 2e-5, "bfloat16": 0.1}
"""Largest error allowed, as a fraction of the largest magnitude in the reference.

bfloat16 rounds to 0.4 % at each addition, and libraries that scatter accumulate in it.
"""

KINK_TOLERANCE = {"float64": 1e-10, "float32": 5e-3, "bfloat16": 0.2}
"""The same for the gradients of a network with ReLU, as a fraction of the largest of all of them.

Where rounding moves one of millions of pre-activations across zero, its part of the gradient comes or goes:
on a tenth to a third of ogbn-arxiv's twin that was up to 8.4e-4 in float32, and nothing in float64.
"""


class MismatchError(AssertionError):
    """A kernel does not do the work it is timed for."""


def with_backward(kernel: Callable[..., Any], values: Callable[[Any], Tensor]) -> Callable[..., Any]:
    """Return the kernel followed by its backward pass, as a training step runs it.

    The function returned takes the gradient of the output first, then the kernel's inputs, and leaves the
    inputs' gradients in `.grad`.
    """

    def run(gradient: Tensor, *inputs: Any) -> Any:
        for leaf in leaves(inputs):
            leaf.grad = None
        output = kernel(*inputs)
        values(output).backward(gradient)
        return output

    return run


def leaves(inputs: Sequence[Any]) -> Iterator[Tensor]:
    """Yield what has a gradient among inputs: tensors and the parameters of modules."""
    for item in inputs:
        if isinstance(item, Tensor):
            if item.requires_grad:
                yield item
        elif isinstance(item, nn.Module):
            yield from item.parameters()


def verify(
    case: Case,
    module: PlatformModule,
    run: Callable[..., Any],
    inputs: Sequence[Any],
    reference: Reference,
) -> None:
    """Run once and compare the output, and gradients where the direction has them, with the reference.

    Args:
        case: names the dtype, the graph and the direction.
        module: the platform, which makes outputs comparable.
        run: what will be timed.
        inputs: its inputs; the tensors and modules among them are the reference's arguments, in order, a
            module giving its weights [in, out] and then its biases.
        reference: called with the graph and float64 copies.

    Raises:
        MismatchError: with the largest error and where it is; also for an output on the wrong device.
    """
    arguments = [_argument(tensor, transposed) for tensor, transposed in _tensors(inputs, module)]
    output = run(*inputs)
    values = module.values(output)
    if values.device.type != case.spec.device:
        raise MismatchError(f"{case.spec.id}: the output is on {values.device}, not on {case.spec.device}")
    if case.spec.direction == FORWARD_BACKWARD:
        # The first input is the gradient of the output, which the reference takes apart from the rest.
        gradient, *arguments = arguments
    if values.dtype != case.dtype:
        raise MismatchError(f"{case.spec.id}: the output is {values.dtype}, not {case.dtype}")
    expected = reference(case.graph, *arguments)
    tolerance = TOLERANCE[case.spec.dtype]
    with torch.no_grad():
        _compare(case, "output", module.canonical(output), expected, tolerance * _largest(expected))
    if case.spec.direction in (FORWARD, STEP):
        return
    wanted = [argument for argument in arguments if argument.requires_grad]
    start = expected.coalesce().values() if expected.is_sparse else expected
    given = gradient.detach() if case.spec.direction == FORWARD_BACKWARD else torch.ones_like(start)
    gradients = torch.autograd.grad(start, wanted, given)
    if case.spec.direction != FORWARD_BACKWARD:
        tolerance = KINK_TOLERANCE[case.spec.dtype]
    # One scale for all: that of a last layer's bias nearly cancels where classes are balanced.
    allowed = tolerance * max(map(_largest, gradients))
    for index, (found, right) in enumerate(zip(_gradients(inputs, module), gradients, strict=True)):
        if found is None:
            raise MismatchError(f"{case.spec.id}: gradient {index} is missing")
        _compare(case, f"gradient {index}", found, right, allowed)


def _tensors(inputs: Sequence[Any], module: PlatformModule) -> Iterator[tuple[Tensor, bool]]:
    """Yield each floating input with whether it must be transposed to be as the reference takes it."""
    for item in inputs:
        if isinstance(item, Tensor):
            if item.layout == torch.strided and item.is_floating_point():
                yield item, False
        elif isinstance(item, nn.Module):
            parameters = list(item.parameters())
            yield from ((weight, module.TRANSPOSED_WEIGHT) for weight in parameters if weight.dim() > 1)
            yield from ((bias, False) for bias in parameters if bias.dim() == 1)


def _argument(tensor: Tensor, transposed: bool) -> Tensor:
    copy = tensor.detach().to("cpu", torch.float64, copy=True)
    return (copy.t() if transposed else copy).requires_grad_(tensor.requires_grad)


def _gradients(inputs: Sequence[Any], module: PlatformModule) -> Iterator[Tensor | None]:
    for tensor, transposed in _tensors(inputs, module):
        if tensor.requires_grad:
            yield tensor.grad.t() if transposed and tensor.grad is not None else tensor.grad


def _largest(expected: Tensor) -> float:
    values = expected.detach().coalesce().values() if expected.is_sparse else expected.detach()
    return values.abs().max().item() if values.numel() else 0.0


def _compare(case: Case, what: str, found: Tensor, expected: Tensor, allowed: float) -> None:
    found, expected = found.detach().cpu(), expected.detach()
    if expected.is_sparse:
        expected = expected.coalesce()
        if not torch.equal(found.indices(), expected.indices()):
            raise MismatchError(
                f"{case.spec.id}: {what} has other entries than the reference "
                f"({found.indices().size(1)} against {expected.indices().size(1)})"
            )
        found, expected = found.values(), expected.values()
    if found.shape != expected.shape:
        raise MismatchError(
            f"{case.spec.id}: {what} has shape {tuple(found.shape)}, the reference {tuple(expected.shape)}"
        )
    error = (found.double() - expected).abs()
    # Written so that NaN fails.
    if not bool((error <= allowed).all()):
        worst = int(error.nan_to_num(torch.inf).argmax())
        raise MismatchError(
            f"{case.spec.id}: {what} is wrong: largest error {error.reshape(-1)[worst].item():.3g} at "
            f"{tuple(map(int, np.unravel_index(worst, error.shape)))}, where the reference is "
            f"{expected.reshape(-1)[worst].item():.6g}; allowed {allowed:.3g}"
        )
