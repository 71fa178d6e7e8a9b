"""Checks a kernel's output and gradients against the float64 reference."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..outputs import UncomparableError, parts
from .case import Case
from .definitions import Reference, adam_step
from .inputs import gradient_for
from .kept_reference import KeptReference, differentiable
from .network import Layer
from .platforms import PlatformModule, Result
from .spec import AUTOCAST, FORWARD, FORWARD_BACKWARD, STEP, TRAIN
from .view import View

TOLERANCE = {"float64": 1e-10, "float32": 1e-4, "float16": 0.02, "bfloat16": 0.1, AUTOCAST: 0.1}
"""Largest error of an entry, relative to its row's maximum or, if larger, the root mean square of all.

bfloat16 rounds by up to 0.4 % at each addition, and libraries that scatter accumulate in bfloat16.
"""

_MOST_ROUNDING = 0.1
"""A larger tolerance would let wrong results pass."""
_UNIT_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
_UNIT_ROUNDOFF[AUTOCAST] = _UNIT_ROUNDOFF["bfloat16"]

_ROUNDINGS = 4
"""Where the terms of a sum cancel, so many roundings of its largest term are allowed."""

KINK_TOLERANCE = {"float64": 1e-10, "float32": 2e-3, "float16": 0.02, "bfloat16": 0.1, AUTOCAST: 0.1}
"""Largest norm of the error in a gradient of a network with ReLU, relative to the gradient's norm.

Rounding can move a pre-activation across zero, which adds or removes its part of the gradient, so single
entries are not comparable. On Cora and the stand-ins of PubMed and ogbn-arxiv the norm of the error was up to
1.5e-4 in float32 and 5e-2 in bfloat16.
"""


def tolerance(case: Case) -> float:
    """Return TOLERANCE, or the rounding of the graph's largest sum if that is more.

    Adding n numbers one after the other rounds by up to n units (Higham, Accuracy and Stability of Numerical
    Algorithms, 4.2). With 15,683 neighbours, torch_scatter's softmax was off by 2e-4 in float32.
    """
    usual = TOLERANCE[case.spec.dtype]
    return max(usual, min(_UNIT_ROUNDOFF[case.spec.dtype] * case.graph.max_degree, _MOST_ROUNDING))


class MismatchError(AssertionError):
    """A kernel's result differs from the reference."""


def with_backward(
    module: PlatformModule, kernel: Callable[..., Any], inputs: Sequence[Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function that runs a kernel and its backward pass, and the function's inputs.

    The first input is the output's gradient, or a tuple of gradients if the output has several parts; the
    kernel's inputs follow. Each call leaves gradients in `.grad`.

    Raises:
        MismatchError: no part of the output needs a gradient, or a part cannot be compared.
    """
    output = kernel(*inputs)
    if not _is_one(output):
        return _with_backward_of_parts(kernel, output, inputs)
    gradient = gradient_for(module.values(output), module.entries(output))

    def run(gradient: Tensor, *inputs: Any) -> Any:
        for leaf in leaves(inputs):
            leaf.grad = None
        output = kernel(*inputs)
        module.values(output).backward(gradient)
        return output

    return run, (gradient, *inputs)


def _with_backward_of_parts(
    kernel: Callable[..., Any], output: Any, inputs: Sequence[Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    gradients = tuple(gradient_for(one) for one in differentiable(_parts(output)))
    if not gradients:
        raise MismatchError("no part of the output needs a gradient: there is no backward pass to time")

    def run(gradients: Sequence[Tensor], *inputs: Any) -> Any:
        for leaf in leaves(inputs):
            leaf.grad = None
        output = kernel(*inputs)
        torch.autograd.backward(differentiable(_parts(output)), gradients)
        return output

    return run, (gradients, *inputs)


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
    upstream = None
    own = list(inputs)
    if case.spec.direction == FORWARD_BACKWARD:
        # The first input is the output's gradient, which is no argument of the reference.
        first = tuple(map(view.upstream, _several(inputs[0])))
        inputs = [first if isinstance(inputs[0], tuple) else first[0], *inputs[1:]]
        upstream = [_float64(view.inside(one)) for one in _several(inputs[0])]
        own = own[1:]
    arguments = [_argument(tensor, transposed, view) for tensor, transposed in _tensors(own, module)]
    output = run(*inputs)
    differentiate = case.spec.direction not in (FORWARD, STEP, *([TRAIN] if result else []))
    expected = kept.of(reference, view, arguments, upstream, differentiate=differentiate)
    with torch.no_grad():
        if result:
            output = result(output, *own)
            found = _parts(output[0] if isinstance(output, tuple) and len(output) == 1 else output)
        else:
            found = _found(module, output, expected.outputs)
        _compare_outputs(case, found, expected.outputs, view, _largest(arguments))
    if expected.gradients is not None and differentiate:
        wanted = [argument for argument in arguments if argument.requires_grad]
        terms = [_gradient_terms(one, expected.outputs, upstream) for one in wanted] if upstream else []
        _verify_gradients(case, module, own, wanted, expected.gradients, terms, view)


def _several(gradient: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return gradient if isinstance(gradient, tuple) else (gradient,)


def _is_one(output: Any) -> bool:
    """Tell whether an output is a dense tensor, or a graph with weights, whose values platforms know."""
    if isinstance(output, tuple):
        return len(output) == 2 and _is_index(output[0]) and isinstance(output[1], Tensor)  # noqa: PLR2004
    return isinstance(output, Tensor) or type(output).__name__ in ("SparseTensor", "DGLGraph")


def _is_index(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dim() == 2 and not value.is_floating_point()  # noqa: PLR2004


def _parts(output: Any) -> dict[str, Any]:
    try:
        return parts(output)
    except UncomparableError as error:
        raise MismatchError(
            f"{error}, which cannot be compared: give measure(..., result=function) that returns its tensors"
        ) from None


def _found(module: PlatformModule, output: Any, expected: Mapping[str, Any]) -> dict[str, Any]:
    if "" in expected and isinstance(expected[""], Tensor) and _is_one(output):
        return {"": _comparable(module, output, expected[""])}
    return _parts(output)


def _compare_outputs(
    case: Case, found: Mapping[str, Any], expected: Mapping[str, Any], view: View, largest: float
) -> None:
    if different := sorted(found.keys() ^ expected.keys()):
        where = "the reference" if different[0] in found else "the output"
        raise MismatchError(
            f"{case.spec.id}: {where} lacks output{different[0]}; the output has "
            f"{', '.join(f'output{place}' for place in found)}"
        )
    for place, right in expected.items():
        what, values = f"output{place}", found[place]
        if isinstance(values, Tensor) and isinstance(right, Tensor):
            _check_type(case, values, right)
            _compare(case, what, view.output(values), view.expected(right), largest)
        elif isinstance(values, Tensor) or isinstance(right, Tensor) or not _agree(case, values, right):
            raise MismatchError(f"{case.spec.id}: {what} is {values!r}, and the reference is {right!r}")


def _agree(case: Case, value: Any, right: Any) -> bool:
    """Compare NumPy arrays and plain values: floating-point numbers within TOLERANCE, all others exactly."""
    found, expected = np.asarray(value), np.asarray(right)
    if found.shape != expected.shape or found.dtype.kind != expected.dtype.kind:
        return False
    if found.dtype.kind in "fc":
        return np.allclose(found, expected, rtol=TOLERANCE[case.spec.dtype], atol=0, equal_nan=True)
    return np.array_equal(found, expected)


def _check_type(case: Case, values: Tensor, expected: Tensor) -> None:
    if values.device.type != case.spec.device:
        raise MismatchError(f"{case.spec.id}: the output is on {values.device}, not on {case.spec.device}")
    # Which operators autocast converts is PyTorch's to decide.
    right = (case.dtype, torch.bfloat16) if case.spec.dtype == AUTOCAST else (case.dtype,)
    if expected.is_floating_point() and values.dtype not in right:
        raise MismatchError(f"{case.spec.id}: the output is {values.dtype}, not {case.dtype}")


def _verify_gradients(
    case: Case,
    module: PlatformModule,
    inputs: Sequence[Any],
    before: Sequence[Tensor],
    right: Sequence[Tensor],
    terms: Sequence[float],
    view: View,
) -> None:
    """Compare the gradients in `.grad`, and after a whole epoch the parameters."""
    found = list(_gradients(case, module, inputs, right))
    if case.spec.direction != FORWARD_BACKWARD:
        _compare_network(case, [gradient for gradient, _ in found], right)
    else:
        each = zip(found, right, terms, strict=True)
        for index, ((gradient, _), expected, largest) in enumerate(each):
            if not view.is_zero_outside(gradient):
                raise MismatchError(
                    f"{case.spec.id}: the gradient of input tensor {index} is not zero where the output does "
                    "not depend on it"
                )
            _compare(case, f"the gradient of input tensor {index}", view.inside(gradient), expected, largest)
    if case.spec.direction == TRAIN:
        for index, ((gradient, parameter), start) in enumerate(zip(found, before, strict=True)):
            after = adam_step(start.detach(), gradient.detach().cpu().double())
            _compare(case, f"parameter {index} after the step", parameter, after, _largest([start]))


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


def _gradients(
    case: Case, module: PlatformModule, inputs: Sequence[Any], right: Sequence[Tensor]
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each tensor's gradient, dense, and the tensor, both as the reference takes it.

    It may be missing where the right one is zero.
    """
    wanted = [one for one in _tensors(inputs, module) if one[0].requires_grad]
    for index, ((tensor, transposed), expected) in enumerate(zip(wanted, right, strict=True)):
        gradient = tensor.grad
        if gradient is None:
            if expected.any():
                raise MismatchError(f"{case.spec.id}: the gradient of input tensor {index} is missing")
            gradient = torch.zeros_like(tensor)
        if gradient.is_sparse:
            gradient = gradient.to_dense()
        yield (gradient.t(), tensor.t()) if transposed else (gradient, tensor)


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
        norms[kind] = max(norms.get(kind, 0.0), gradient.where(gradient.isfinite(), 0).norm().item())
    for index, (gradient, expected) in enumerate(zip(found, right, strict=True)):
        error = _error(gradient.detach().cpu(), expected).norm().item()
        least = _rounding(case) * max(norms.values())  # where all terms of a kind cancel
        allowed = max(KINK_TOLERANCE[case.spec.dtype] * norms[_kind(index, expected)], least)
        if not error <= allowed:  # written so that NaN fails
            raise MismatchError(
                f"{case.spec.id}: the gradient of input tensor {index} is wrong: its error has norm "
                f"{error:.3g}; allowed {allowed:.3g}"
            )


def _kind(index: int, parameter: Tensor) -> object:
    """Return what parameters that are compared with the largest of them have in common."""
    return {1: "bias", 2: index}.get(parameter.dim(), parameter.shape)


def _compare(case: Case, what: str, found: Tensor, expected: Tensor, largest: float) -> None:
    """Compare entry by entry; `largest` is the size of the terms whose sums the entries are."""
    found, expected = found.detach().cpu(), expected.detach()
    if found.is_sparse != expected.is_sparse:
        layouts = [str(one.layout).removeprefix("torch.") for one in (found, expected)]
        raise MismatchError(f"{case.spec.id}: {what} is {layouts[0]}, and the reference is {layouts[1]}")
    if expected.is_sparse:
        found, expected = found.coalesce(), expected.coalesce()
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
    error = _error(found, expected)
    finite = expected.where(expected.isfinite(), 0)
    row = finite.abs().amax(dim=1, keepdim=True) if expected.dim() > 1 else finite.abs()
    scale = row.clamp(min=finite.square().mean().sqrt().item()).expand_as(error)
    allowed_errors = (tolerance(case) * scale).clamp(min=_rounding(case) * largest)
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


def _error(found: Tensor, expected: Tensor) -> Tensor:
    """Return the absolute errors; 0 where both are the same infinity or both are NaN."""
    found = found.double()
    same = (found == expected) | (found.isnan() & expected.isnan())
    return (found - expected).abs().where(~same, 0)


def _rounding(case: Case) -> float:
    return _ROUNDINGS * _UNIT_ROUNDOFF[case.spec.dtype]


def _largest(tensors: Sequence[Tensor]) -> float:
    """Return the largest finite absolute value; 0 if there is none."""
    sizes = (one.detach().abs() for one in tensors if one.numel())
    return max((one.where(one.isfinite(), 0).max().item() for one in sizes), default=0.0)


def _gradient_terms(argument: Tensor, outputs: Mapping[str, Any], upstream: Sequence[Tensor]) -> float:
    """Return the size of the terms that a gradient adds up, which may cancel to nothing.

    A term has the size of |upstream| |output| / |argument|. Each entry of the argument gets a term of each
    output that it is part of: on average, as many as there are outputs for one entry. The argument's size is
    its spread, as some functions, such as a softmax, ignore its mean.
    """
    tensors = [one for one in outputs.values() if isinstance(one, Tensor) and one.is_floating_point()]
    values_of = [one.coalesce().values() if one.is_sparse else one for one in tensors]
    if not argument.numel():
        return 0.0
    values = argument.detach()
    size = (values - values.mean()).square().mean().sqrt().item() or values.abs().max().item()
    if not size:
        return 0.0
    share = max(1.0, sum(one.numel() for one in values_of) / argument.numel())
    return _largest(upstream) * _largest(values_of) * share / size


def _compare_exactly(case: Case, what: str, found: Tensor, expected: Tensor) -> None:
    different = (found.long() != expected.long()).nonzero()
    if len(different):
        place = tuple(different[0].tolist())
        raise MismatchError(
            f"{case.spec.id}: {what} is wrong at {place}, where it is {found[place]} and the reference is "
            f"{expected[place]}; {len(different)} of {expected.numel()} values differ"
        )
