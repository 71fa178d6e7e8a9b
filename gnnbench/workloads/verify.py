"""Checks a kernel's output and gradients against the float64 reference."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .case import Case, gradient_for
from .kept_reference import KeptReference
from .layer import Layer
from .operation import Result
from .platforms import PlatformModule
from .reference import Reference, adam_step
from .spec import FORWARD, FORWARD_BACKWARD, STEP, TRAIN
from .view import LARGE, View

TOLERANCE = {"float64": 1e-10, "float32": 1e-4, "bfloat16": 0.1}
"""Largest error of an entry, relative to its row's maximum or, if larger, the root mean square of all.

bfloat16 rounds by up to 0.4 % at each addition, and libraries that scatter accumulate in bfloat16.
"""

_MOST_ROUNDING = 0.1
"""A larger tolerance would let wrong results pass."""
_UNIT_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8}

KINK_TOLERANCE = {"float64": 1e-10, "float32": 2e-3, "bfloat16": 0.1}
"""Largest norm of the error in a gradient of a network with ReLU, relative to the gradient's norm.

Rounding can move a pre-activation across zero, which adds or removes its part of the gradient, so single
entries are not comparable. On Cora and the stand-ins of PubMed and ogbn-arxiv the norm of the error was up to
1.5e-4 in float32 and 5e-2 in bfloat16.
"""


def tolerance(case: Case) -> float:
    """Return TOLERANCE, or on a large graph the rounding of its largest sum if that is more.

    Adding n numbers one after the other rounds by up to n units (Higham, Accuracy and Stability of Numerical
    Algorithms, 4.2). With 15,683 neighbours, torch_scatter's softmax was off by 2e-4 in float32.
    """
    usual = TOLERANCE[case.spec.dtype]
    if case.graph.num_edges * case.spec.hidden < LARGE:
        return usual
    return max(usual, min(_UNIT_ROUNDOFF[case.spec.dtype] * case.graph.max_degree, _MOST_ROUNDING))


class MismatchError(AssertionError):
    """A kernel's result differs from the reference."""


def with_backward(
    module: PlatformModule, kernel: Callable[..., Any], inputs: Sequence[Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function that runs a kernel and its backward pass, and the function's inputs.

    The first input is the output's gradient; the kernel's follow. Each call leaves gradients in `.grad`.
    """
    output = kernel(*inputs)
    gradient = gradient_for(module.values(output), module.entries(output))

    def run(gradient: Tensor, *inputs: Any) -> Any:
        for leaf in leaves(inputs):
            leaf.grad = None
        output = kernel(*inputs)
        module.values(output).backward(gradient)
        return output

    return run, (gradient, *inputs)


def leaves(inputs: Sequence[Any]) -> Iterator[Tensor]:
    """Yield the tensors that need a gradient, and the parameters of modules."""
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
    *,
    result: Result | None = None,
    view: View | None = None,
    kept: KeptReference | None = None,
) -> None:
    """Run once; compare the output, and gradients if the direction has any, with the reference.

    Args:
        case: has the dtype, the graph and the direction.
        module: the platform's module, which makes outputs comparable.
        run: the timed function.
        inputs: its inputs. Tensors and modules become the reference's arguments, in order. A module becomes
            its parameters: first those with several dimensions (matrices as [in, out]), then the vectors.
        reference: called with the graph and float64 copies. Integers and booleans in its results must be
            equal, floating-point numbers within TOLERANCE.
        result: as in `Kernel`. An epoch that has one is compared by it alone: after several steps there is no
            gradient of the initial parameters.
        view: what is compared; None: every entry.
        kept: keeps the reference for other platforms and directions.

    Raises:
        MismatchError: a value, shape, dtype or device is wrong.
    """
    view, kept = view or View(case.graph), kept or KeptReference()
    gradient = None
    own = list(inputs)
    if case.spec.direction == FORWARD_BACKWARD:
        # The first input is the output's gradient, which is no argument of the reference.
        inputs = [view.upstream(inputs[0]), *inputs[1:]]
        gradient, own = _float64(view.inside(inputs[0])), own[1:]
    arguments = [_argument(tensor, transposed, view) for tensor, transposed in _tensors(own, module)]
    output = run(*inputs)
    differentiate = case.spec.direction not in (FORWARD, STEP, *([TRAIN] if result else []))
    expected = kept.of(reference, view, arguments, gradient, differentiate=differentiate)
    with torch.no_grad():
        found = result(output, *own) if result else _comparable(module, output, expected.outputs[0])
        found = found if isinstance(found, tuple) else (found,)
        for values, right in zip(found, expected.outputs, strict=True):
            _check_type(case, values, right)
            _compare(case, "output", view.output(values), view.expected(right))
    if expected.gradients is not None and differentiate:
        wanted = [argument for argument in arguments if argument.requires_grad]
        _verify_gradients(case, module, own, wanted, expected.gradients, view)


def _check_type(case: Case, values: Tensor, expected: Tensor) -> None:
    if values.device.type != case.spec.device:
        raise MismatchError(f"{case.spec.id}: the output is on {values.device}, not on {case.spec.device}")
    if expected.is_floating_point() and values.dtype != case.dtype:
        raise MismatchError(f"{case.spec.id}: the output is {values.dtype}, not {case.dtype}")


def _verify_gradients(
    case: Case,
    module: PlatformModule,
    inputs: Sequence[Any],
    before: Sequence[Tensor],
    right: Sequence[Tensor],
    view: View,
) -> None:
    """Compare the gradients in `.grad`, and after a whole epoch the parameters."""
    found = list(_gradients(inputs, module))
    for index, (gradient, _) in enumerate(found):
        if gradient is None:
            raise MismatchError(f"{case.spec.id}: the gradient of input tensor {index} is missing")
    if case.spec.direction != FORWARD_BACKWARD:
        _compare_network(case, [gradient for gradient, _ in found], right)
    else:
        for index, ((gradient, _), expected) in enumerate(zip(found, right, strict=True)):
            if not view.is_zero_outside(gradient):
                raise MismatchError(
                    f"{case.spec.id}: the gradient of input tensor {index} is not zero where the output does "
                    "not depend on it"
                )
            _compare(case, f"the gradient of input tensor {index}", view.inside(gradient), expected)
    if case.spec.direction == TRAIN:
        for index, ((gradient, parameter), start) in enumerate(zip(found, before, strict=True)):
            after = adam_step(start.detach(), gradient.detach().cpu().double())
            _compare(case, f"parameter {index} after the step", parameter, after)


def _tensors(inputs: Sequence[Any], module: PlatformModule) -> Iterator[tuple[Tensor, bool]]:
    """Yield each floating-point input, and whether the reference takes it transposed."""
    for item in inputs:
        if isinstance(item, Tensor):
            if item.layout == torch.strided and item.is_floating_point():
                yield item, False
        elif isinstance(item, nn.Module):
            parameters = list(item.parameters())
            linear = {id(part.weight) for part in item.modules() if isinstance(part, nn.Linear)}
            for weight in (one for one in parameters if one.dim() > 1):
                transposed = module.TRANSPOSED_WEIGHT or id(weight) in linear
                if isinstance(item, Layer):
                    transposed = item.transposed
                yield weight, transposed and weight.dim() == 2  # noqa: PLR2004 - [out, in]
            yield from ((bias, False) for bias in parameters if bias.dim() == 1)


def _argument(tensor: Tensor, transposed: bool, view: View) -> Tensor:
    values = tensor.t() if transposed else tensor
    return _float64(view.inside(values)).requires_grad_(tensor.requires_grad)


def _float64(tensor: Tensor) -> Tensor:
    return tensor.detach().to("cpu", torch.float64, copy=True)


def _gradients(inputs: Sequence[Any], module: PlatformModule) -> Iterator[tuple[Any, Tensor]]:
    """Yield each tensor's gradient, None if it is missing, and the tensor."""
    for tensor, transposed in _tensors(inputs, module):
        if tensor.requires_grad:
            gradient = tensor.grad.t() if transposed and tensor.grad is not None else tensor.grad
            yield gradient, tensor.t() if transposed else tensor


def _comparable(module: PlatformModule, output: Any, expected: Tensor) -> Tensor:
    """Return a dense output, or a graph's weights as a matrix."""
    values, entries = module.values(output), module.entries(output)
    if entries is None or values.device.type == "meta":
        return values
    return torch.sparse_coo_tensor(entries, values, expected.shape).coalesce()


def _compare_network(case: Case, found: Sequence[Tensor], right: Sequence[Tensor]) -> None:
    """Compare by norm; biases relative to the largest one, and attention vectors to the largest of a shape.

    The terms of some gradients cancel: those of the last layer's bias nearly, and those of the attention of
    target nodes wherever LeakyReLU is linear, because a softmax ignores what all of its entries share.
    """
    norms: dict[object, float] = {}
    for index, gradient in enumerate(right):
        kind = _kind(index, gradient)
        norms[kind] = max(norms.get(kind, 0.0), gradient.norm().item())
    for index, (gradient, expected) in enumerate(zip(found, right, strict=True)):
        error = (gradient.detach().cpu().double() - expected).norm().item()
        allowed = KINK_TOLERANCE[case.spec.dtype] * norms[_kind(index, expected)]
        if not error <= allowed:  # written so that NaN fails
            raise MismatchError(
                f"{case.spec.id}: the gradient of input tensor {index} is wrong: its error has norm "
                f"{error:.3g}; allowed {allowed:.3g}"
            )


def _kind(index: int, parameter: Tensor) -> object:
    """Return what parameters that are compared with the largest of them have in common."""
    return {1: "bias", 2: index}.get(parameter.dim(), parameter.shape)


def _compare(case: Case, what: str, found: Tensor, expected: Tensor) -> None:
    found, expected = found.detach().cpu(), expected.detach()
    if expected.is_sparse:
        expected = expected.coalesce()
        if not torch.equal(found.indices(), expected.indices()):
            raise MismatchError(
                f"{case.spec.id}: {what} has entries at other positions than the reference "
                f"({found.indices().size(1)} entries, reference {expected.indices().size(1)})"
            )
        found, expected = found.values(), expected.values()
    if found.shape != expected.shape:
        raise MismatchError(
            f"{case.spec.id}: {what} has shape {tuple(found.shape)}, the reference {tuple(expected.shape)}"
        )
    if not expected.is_floating_point():
        _compare_exactly(case, what, found, expected)
        return
    if not expected.numel():
        return
    error = (found.double() - expected).abs()
    row = expected.abs().amax(dim=1, keepdim=True) if expected.dim() > 1 else expected.abs()
    scale = row.clamp(min=expected.square().mean().sqrt().item()).expand_as(error)
    allowed_errors = tolerance(case) * scale
    excess = error - allowed_errors
    # Written so that NaN fails.
    if not bool((excess <= 0).all()):
        worst = int(excess.nan_to_num(torch.inf).argmax())
        place = tuple(map(int, np.unravel_index(worst, error.shape)))
        largest, value, right, allowed = (
            one.reshape(-1)[worst].item() for one in (error, found, expected, allowed_errors)
        )
        raise MismatchError(
            f"{case.spec.id}: {what} is wrong: largest error {largest:.3g} at {place}, where it is "
            f"{value:.6g} and the reference is {right:.6g}; allowed {allowed:.3g}"
        )


def _compare_exactly(case: Case, what: str, found: Tensor, expected: Tensor) -> None:
    different = (found.long() != expected.long()).nonzero()
    if len(different):
        place = tuple(different[0].tolist())
        raise MismatchError(
            f"{case.spec.id}: {what} is wrong at {place}, where it is {found[place]} and the reference is "
            f"{expected[place]}; {len(different)} of {expected.numel()} values differ"
        )
