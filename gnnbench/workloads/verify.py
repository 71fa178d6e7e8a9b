"""Checks a kernel's output and gradients against the float64 reference."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from ..outputs import UncomparableError, parts
from .case import Case
from .definitions import Reference, adam_step
from .inputs import gradient_for
from .kept_reference import KeptReference, compute, differentiable, numbers, opened, stored
from .network import Layer
from .platforms import PlatformModule, Result
from .spec import AUTOCAST, FORWARD, FORWARD_BACKWARD, STEP, TRAIN
from .ties import tied
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


_DENSE = (torch.strided, torch.jagged)


class MismatchError(AssertionError):
    """A kernel's result differs from the reference."""


def with_backward(
    module: PlatformModule, kernel: Callable[..., Any], inputs: Sequence[Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function that runs a kernel and its backward pass, and the function's inputs.

    The first input is the output's gradient, or a tuple of gradients if the output has several parts; the
    kernel's inputs follow. Each call leaves gradients in `.grad`, so that inputs become leaves.

    Raises:
        MismatchError: no part of the output needs a gradient, or a part cannot be compared.
    """
    inputs = tuple(
        item if all(one.is_leaf for one in numbers(item)) else tree_map(_leaf, item) for item in inputs
    )
    parameters = list(leaves([kernel]))
    deep = len(list(leaves(inputs))) < len(list(leaves(inputs, deep=True)))
    output = kernel(*inputs)
    several = not _is_one(output)
    differentiated = _differentiated(module, output)
    if not differentiated:
        raise MismatchError(
            "no part of the output needs a gradient: there is no backward pass to time; leave it out with "
            "directions=['forward'] in the marker"
        )
    gradients = tuple(gradient_for(values, entries) for entries, values in differentiated.values())
    tensors = _tensors(output) if several else [module.values(output)]
    plain = all(one.layout == torch.strided and not one.is_nested for one in tensors)

    # Counters have each call of a Python function.
    def run(gradients: Tensor | Sequence[Tensor], *inputs: Any) -> Any:
        for leaf in (*parameters, *leaves(inputs, deep)):
            leaf.grad = None
        output = kernel(*inputs)
        if not plain:
            values = [one for _, one in _differentiated(module, output).values()]
            torch.autograd.backward(values, gradients)
        elif several:
            torch.autograd.backward(_tensors(output), gradients)
        else:
            module.values(output).backward(gradients)
        return output

    return run, (gradients if several else gradients[0], *inputs)


def _tensors(output: Any) -> list[Tensor]:
    parts_of = sorted(_parts(output).items())
    return [one for _, one in parts_of if isinstance(one, Tensor) and one.requires_grad]


def _leaf(item: Any) -> Any:
    return item.detach().requires_grad_(item.requires_grad) if isinstance(item, Tensor) else item


def _differentiated(module: PlatformModule, output: Any) -> dict[str, tuple[Tensor | None, Tensor]]:
    """Return the entries and values of an output's parts that need a gradient, by place."""
    if not _is_one(output):
        found = opened(_parts(output))
        return {place: stored(found[place]) for place in differentiable(found)}
    entries, values = stored(output if isinstance(output, Tensor) else module.values(output))
    entries = entries if isinstance(output, Tensor) else module.entries(output)
    return {"": (entries, values)} if values.requires_grad else {}


def leaves(inputs: Iterable[Any], deep: bool = False) -> Iterator[Tensor]:
    """Yield the tensors that need a gradient and modules' parameters; with `deep`, also of containers."""
    for item in inputs:
        if isinstance(item, Tensor):
            if item.requires_grad:
                yield item
        elif isinstance(item, nn.Module):
            yield from item.parameters()
        elif deep and isinstance(item, tuple | list | dict):
            yield from leaves(item.values() if isinstance(item, dict) else item, deep)


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
            Sparse tensors and containers of tensors are arguments where the reference has a place for them.
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
    gradients: tuple[Tensor, ...] = ()
    own = list(inputs)
    if case.spec.direction == FORWARD_BACKWARD:
        # The first input is the output's gradient, which is no argument of the reference.
        first = tuple(map(view.upstream, _several(inputs[0])))
        inputs = [first if isinstance(inputs[0], tuple) else first[0], *inputs[1:]]
        gradients = tuple(_precise(view.inside(one)) for one in first)
        own = own[1:]
    given = _given(case, own, module, reference)
    arguments = [_argument(item, transposed, view) for item, transposed in given]
    random = _random_states(case)
    output = run(*inputs)
    drawn = not all(map(torch.equal, random, _random_states(case)))
    upstream = dict(zip(_differentiated(module, output), gradients, strict=False)) if gradients else None
    differentiate = case.spec.direction not in (FORWARD, STEP, *([TRAIN] if result else []))

    @torch.no_grad()
    def check(expected: Mapping[str, Any]) -> None:
        if result:
            compared = result(output, *own)
            single = isinstance(compared, tuple) and len(compared) == 1
            found = opened(_parts(compared[0] if single else compared))
        else:
            found = _found(module, output, expected)
        try:
            _compare_outputs(case, found, expected, view, _largest(numbers(arguments)))
        except MismatchError as error:
            why = "; the call draws random numbers: seed them in it, and in the reference" if drawn else ""
            raise MismatchError(f"{error}{why}") from None

    try:
        expected = kept.of(reference, view, arguments, upstream, differentiate=differentiate, check=check)
    except UncomparableError as error:
        raise MismatchError(f"{case.spec.id}: of the reference, {error}") from None
    if expected.gradients is not None and differentiate:
        before = [one for one in numbers(arguments) if one.requires_grad]
        terms = [_gradient_terms(one, expected.outputs, gradients) for one in before] if upstream else []

        def again() -> tuple[Tensor, ...]:
            made = compute(reference, view, arguments, upstream, differentiate=True).gradients
            assert made is not None
            return made

        right = list(map(_dense, expected.gradients, before))
        found = list(_gradients(case, given, right, before))
        _verify_gradients(case, found, before, right, terms, view, again)


def _random_states(case: Case) -> list[Tensor]:
    on_gpu = [torch.cuda.get_rng_state()] if case.spec.device == "cuda" else []
    return [torch.get_rng_state(), *on_gpu]


def _several(gradient: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return gradient if isinstance(gradient, tuple) else (gradient,)


def _is_one(output: Any) -> bool:
    """Tell whether an output is a dense tensor, or a graph with weights, whose values platforms know."""
    if isinstance(output, tuple):
        return len(output) == 2 and _is_index(output[0]) and isinstance(output[1], Tensor)  # noqa: PLR2004
    return (isinstance(output, Tensor) and not output.is_nested) or type(output).__name__ in (
        "SparseTensor",
        "DGLGraph",
    )


def _is_index(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dim() == 2 and not numbers(value)  # noqa: PLR2004


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
    return opened(_parts(output))


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
            raise MismatchError(
                f"{case.spec.id}: {what} is {_text(values)}, and the reference is {_text(right)}"
            )


def _text(value: Any) -> str:
    """Return a part of an output in a line."""
    if isinstance(value, Tensor | np.ndarray):
        return (
            f"{'a tensor' if isinstance(value, Tensor) else 'an array'} {list(value.shape)} of {value.dtype}"
        )
    return repr(value)


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
    right = [case.dtype, *([torch.bfloat16] if case.spec.dtype == AUTOCAST else [])]
    if expected.is_complex():
        right = [one.to_complex() for one in right]
    if (expected.is_floating_point() or expected.is_complex()) and values.dtype not in right:
        raise MismatchError(f"{case.spec.id}: the output is {values.dtype}, not {right[0]}")


def _verify_gradients(
    case: Case,
    found: Sequence[tuple[Tensor, Tensor]],
    before: Sequence[Tensor],
    right: Sequence[Tensor],
    terms: Sequence[float],
    view: View,
    again: Callable[[], Sequence[Tensor]],
) -> None:
    """Compare the gradients in `.grad`, and after a whole epoch the parameters."""
    if case.spec.direction != FORWARD_BACKWARD:
        _compare_network(case, [gradient for gradient, _ in found], right)
    else:
        each = zip(found, right, before, terms, strict=True)
        for index, ((gradient, _), expected, start, largest) in enumerate(each):
            if not view.is_zero_outside(gradient):
                raise MismatchError(
                    f"{case.spec.id}: the gradient of input tensor {index} is not zero where the output does "
                    "not depend on it"
                )

            ties = partial(tied, start, lambda index=index: again()[index])  # type: ignore[misc]
            what, dense = (
                f"the gradient of input tensor {index}",
                not start.is_nested and start.layout in _DENSE,
            )
            _compare(case, what, view.inside(gradient), expected, largest, ties if dense else None)
    if case.spec.direction == TRAIN:
        for index, ((gradient, parameter), start) in enumerate(zip(found, before, strict=True)):
            after = adam_step(start.detach(), gradient.detach().cpu().double())
            _compare(case, f"parameter {index} after the step", parameter, after, _largest([start]))


def _given(
    case: Case, inputs: Sequence[Any], module: PlatformModule, reference: Reference
) -> list[tuple[Any, bool]]:
    """Return the inputs that the reference takes, and whether it takes them transposed.

    Dense tensors and parameters; also sparse tensors and containers where it has a place for them: the
    references of gnnbench's operations, which serve all platforms, have none for a platform's structure.
    """
    why = ""
    for wide in (False, True):
        given = list(_arguments(inputs, module, wide=wide))
        try:
            signature(reference).bind(case.graph, *given)
        except TypeError as error:
            why = why or str(error)
        except ValueError:  # a function of C may have no signature
            return given
        else:
            return given
    raise MismatchError(
        f"{case.spec.id}: the reference must take the graph and the {len(given)} inputs that have "
        f"floating-point or complex numbers: {why}"
    )


def _arguments(inputs: Sequence[Any], module: PlatformModule, *, wide: bool) -> Iterator[tuple[Any, bool]]:
    for item in inputs:
        if isinstance(item, nn.Module):
            parameters = list(item.parameters())
            linear = {id(part.weight) for part in item.modules() if isinstance(part, nn.Linear)}
            for weight in (one for one in parameters if one.dim() > 1):
                transposed = module.TRANSPOSED_WEIGHT or id(weight) in linear
                if isinstance(item, Layer):
                    transposed = item.transposed
                yield weight, transposed and weight.dim() == 2  # noqa: PLR2004 - [out, in]
            yield from ((bias, False) for bias in parameters if bias.dim() == 1)
        elif numbers(item) and (wide or (isinstance(item, Tensor) and item.layout in _DENSE)):
            yield item, False


def _argument(item: Any, transposed: bool, view: View) -> Any:
    """Return a copy of an input, also of a container, with floating-point numbers in float64."""

    def copied(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        values = value.t() if transposed else value
        return _precise(view.inside(values)).requires_grad_(value.requires_grad)

    return tree_map(copied, item)


def _precise(tensor: Tensor) -> Tensor:
    dtype = torch.complex128 if tensor.is_complex() else tensor.dtype
    dtype = torch.float64 if tensor.is_floating_point() else dtype
    return tensor.detach().to("cpu", dtype, copy=True)


def _gradients(
    case: Case, given: Sequence[tuple[Any, bool]], right: Sequence[Tensor], before: Sequence[Tensor]
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each tensor's gradient, dense, and the tensor, both as the reference takes it.

    It may be missing where the right one is zero.
    """
    pairs = ((one, transposed) for item, transposed in given for one in numbers(item))
    wanted = [(one, transposed) for one, transposed in pairs if one.requires_grad]
    for index, ((tensor, transposed), expected, start) in enumerate(zip(wanted, right, before, strict=True)):
        gradient = tensor.grad
        if gradient is None:
            if expected.any():
                raise MismatchError(f"{case.spec.id}: the gradient of input tensor {index} is missing")
            yield torch.zeros_like(expected), tensor.t() if transposed else tensor
            continue
        gradient = _dense(gradient, start)
        yield (gradient.t(), tensor.t()) if transposed else (gradient, tensor)


def _dense(gradient: Tensor, tensor: Tensor) -> Tensor:
    """Return a tensor's gradient; of a sparse tensor at its entries, of a nested one in one dimension."""
    if tensor.is_nested:
        return _flat(gradient)
    gradient = gradient if gradient.layout == torch.strided else gradient.to_dense()
    entries, _ = stored(tensor.detach())
    return gradient if entries is None else gradient.detach().cpu()[tuple(entries)]


def _flat(tensor: Tensor) -> Tensor:
    """Return a tensor, the values of a sparse one, or all values of a nested one."""
    if tensor.is_nested:
        return torch.cat([row.flatten() for row in tensor.detach().unbind()])
    return stored(tensor)[1]


def _comparable(module: PlatformModule, output: Any, expected: Tensor) -> Tensor:
    """Return a dense output, or a graph's weights as a matrix."""
    values, entries = module.values(output), module.entries(output)
    if isinstance(output, Tensor) and output.layout not in _DENSE:
        # A reference of one dimension has the values of entries in order.
        return stored(output)[1] if expected.dim() < output.dim() else output
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


def _compare(
    case: Case,
    what: str,
    found: Tensor,
    expected: Tensor,
    largest: float,
    ties: Callable[..., Tensor] | None = None,
) -> None:
    """Compare entry by entry; `largest` is the size of the terms whose sums the entries are.

    `ties` tells which entries of a gradient several values are right for; see `tied`.
    """
    found, expected = found.detach().cpu(), expected.detach()
    sparse = [one.layout != torch.strided for one in (found, expected)]
    if sparse[0] != sparse[1]:
        layouts = [str(one.layout).removeprefix("torch.") for one in (found, expected)]
        raise MismatchError(
            f"{case.spec.id}: {what} is {layouts[0]}, and the reference is {layouts[1]}: return the same "
            "layout from it"
        )
    if sparse[1] and found.shape == expected.shape:
        found, expected = found.to_sparse_coo().coalesce(), expected.to_sparse_coo().coalesce()
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
    if not (expected.is_floating_point() or expected.is_complex()):
        _compare_exactly(case, what, found, expected)
        return
    if not expected.numel():
        return
    error = _error(found, expected)
    finite = expected.where(expected.isfinite(), 0).abs()
    row = finite.amax(dim=1, keepdim=True) if expected.dim() > 1 else finite
    scale = row.clamp(min=finite.square().mean().sqrt().item()).expand_as(error)
    allowed_errors = (tolerance(case) * scale).clamp(min=_rounding(case) * largest)
    excess = error - allowed_errors
    wrong = ~(excess <= 0)  # written so that NaN is wrong
    if ties and bool(wrong.any()):
        wrong &= ~ties(wrong, found.to(expected.dtype), expected, allowed_errors)
    if bool(wrong.any()):
        excess = excess.nan_to_num(torch.inf).where(wrong, 0.0)
        worst = int(excess.argmax())
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
    found = found.to(expected.dtype)
    same = (found == expected) | (found.isnan() & expected.isnan())
    return (found - expected).abs().where(~same, 0)


def _rounding(case: Case) -> float:
    return _ROUNDINGS * _UNIT_ROUNDOFF[case.spec.dtype]


def _largest(tensors: Sequence[Tensor]) -> float:
    """Return the largest finite absolute value; 0 if there is none."""
    sizes = (_flat(one.detach()).abs() for one in tensors if one.numel())
    return max((one.where(one.isfinite(), 0).max().item() for one in sizes), default=0.0)


def _gradient_terms(argument: Tensor, outputs: Mapping[str, Any], upstream: Sequence[Tensor]) -> float:
    """Return the size of the terms that a gradient adds up, which may cancel to nothing.

    A term has the size of |upstream| |output| / |argument|. Each entry of the argument gets a term of each
    output that it is part of: on average, as many as there are outputs for one entry. The argument's size is
    its spread, as some functions, such as a softmax, ignore its mean.
    """
    values_of = list(map(_flat, numbers(dict(outputs))))
    values = _flat(argument.detach())
    if not values.numel():
        return 0.0
    size = (values - values.mean()).abs().square().mean().sqrt().item() or values.abs().max().item()
    if not size:
        return 0.0
    share = max(1.0, sum(one.numel() for one in values_of) / values.numel())
    return _largest(upstream) * _largest(values_of) * share / size


def _compare_exactly(case: Case, what: str, found: Tensor, expected: Tensor) -> None:
    inexact = found.is_floating_point() or found.is_complex()
    different = (_precise(found) != expected if inexact else found.long() != expected.long()).nonzero()
    if len(different):
        place = tuple(different[0].tolist())
        raise MismatchError(
            f"{case.spec.id}: {what} is wrong at {place}, where it is {found[place]} and the reference is "
            f"{expected[place]}; {len(different)} of {expected.numel()} values differ"
        )
