"""Checks a kernel's output and gradients against the float64 reference."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map

from ..engine.ground.outputs import UncomparableError
from .accuracy import MismatchError, agree, check_type, compare, compare_network, flat, largest_of, precise
from .backward import differentiated, entries_of, is_single, parts_of, tied
from .case import Case
from .definitions import Reference, adam_step
from .kept_reference import Expected, KeptReference, floats, split_nested, stored
from .platforms import Result
from .spec import FORWARD, FORWARD_BACKWARD, STEP, TRAIN
from .view import View

_DENSE = (torch.strided, torch.jagged)


def verify(
    case: Case,
    module: ModuleType,
    run: Callable[..., Any],
    inputs: Sequence[Any],
    reference: Reference,
    *,
    result: Result | None = None,
    view: View | None = None,
    cache: KeptReference | None = None,
) -> None:
    """Run once; compare the output, and gradients if the direction has any, with the reference.

    The reference gets the graph and float64 copies of the tensors and modules among the inputs, in order. A
    module is passed as its matrices [in, out], then its vectors. Sparse tensors and containers of tensors are
    passed only if the reference takes that many arguments. Integers and booleans must be equal,
    floating-point numbers within TOLERANCE. Raises MismatchError if a value, shape, dtype or device is wrong.

    If an epoch has a function `result`, as in `Kernel`, only what it returns is compared, because `.grad`
    belongs to the last step, not to the initial parameters. Without a `view`, every entry is compared.
    """
    view, cache = view or View(case.graph), cache or KeptReference()
    upstream: tuple[Tensor, ...] = ()
    operands = list(inputs)
    if case.spec.direction == FORWARD_BACKWARD:
        # The first input is the output's gradient, which the reference does not take.
        gradients = tree_map(view.upstream, inputs[0])
        inputs = [gradients, *inputs[1:]]
        upstream = tuple(precise(view.inside(tensor)) for tensor in tree_leaves(gradients))
        operands = operands[1:]
    pairs = _reference_inputs(case, operands, reference)
    arguments = [_precise(item, transposed, view) for item, transposed in pairs]
    states = _random_states(case)
    output = run(*inputs)
    is_seeded = all(map(torch.equal, states, _random_states(case)))
    hint = "" if is_seeded else "; the call draws random numbers: seed the call and the reference"
    by_place = dict(zip(differentiated(module, output), upstream, strict=False)) if upstream else None
    differentiate = case.spec.direction not in (FORWARD, STEP, *([TRAIN] if result else []))
    try:
        expected = cache.of(Expected(reference, view, arguments, by_place, differentiate))
        with torch.no_grad():
            computed = _computed(module, output, operands, expected.outputs, result)
            try:
                _compare_outputs(case, computed, expected)
            except MismatchError as error:
                raise MismatchError(f"{error}{hint}") from None
        if differentiate:
            _compare_gradients(case, pairs, expected, upstream)
    except UncomparableError as error:
        raise MismatchError(f"reference: {error}") from None


def _random_states(case: Case) -> list[Tensor]:
    on_gpu = [torch.cuda.get_rng_state()] if case.spec.device == "cuda" else []
    return [torch.get_rng_state(), *on_gpu]


def _computed(
    module: ModuleType,
    output: Any,
    operands: Sequence[Any],
    expected: Mapping[str, Any],
    result: Result | None,
) -> dict[str, Any]:
    """Return the parts of an output that are compared, by place: see `kept_reference`."""
    if result:
        compared = result(output, *operands)
        single = isinstance(compared, tuple) and len(compared) == 1
        return split_nested(parts_of(compared[0] if single else compared))
    if isinstance(expected.get(""), Tensor) and is_single(output):
        return {"": _comparable(module, output, expected[""])}
    return split_nested(parts_of(output))


def _compare_outputs(case: Case, computed: Mapping[str, Any], expected: Expected) -> None:
    view, largest = expected.view, largest_of(floats(expected.arguments))
    if different := sorted(computed.keys() ^ expected.outputs.keys()):
        where = "the reference" if different[0] in computed else "the output"
        places = ", ".join(f"output{place}" for place in computed)
        raise MismatchError(f"{where} lacks output{different[0]}; the output has {places}")
    for place, reference in expected.outputs.items():
        what, value = f"output{place}", computed[place]
        if isinstance(value, Tensor) and isinstance(reference, Tensor):
            check_type(case, value, reference)
            compare(case, what, view.output(value), view.expected(reference), largest)
        elif isinstance(value, Tensor) or isinstance(reference, Tensor) or not agree(case, value, reference):
            raise MismatchError(f"{what} is {_summary(value)}, and the reference is {_summary(reference)}")


def _summary(value: Any) -> str:
    if isinstance(value, Tensor | np.ndarray):
        kind = "a tensor" if isinstance(value, Tensor) else "an array"
        return f"{kind} {list(value.shape)} of {value.dtype}"
    return repr(value)


def _compare_gradients(
    case: Case, pairs: Sequence[tuple[Any, bool]], expected: Expected, upstream: Sequence[Tensor]
) -> None:
    """Compare the gradients in `.grad`, and after a whole epoch also the parameters."""
    view = expected.view
    before = [tensor for tensor in floats(expected.arguments) if tensor.requires_grad]
    references = list(map(_dense, expected.gradients, before))
    computed = list(_gradients(pairs, references, before))
    if case.spec.direction != FORWARD_BACKWARD:
        compare_network(case, [gradient for gradient, _ in computed], references)
    else:
        for index, ((gradient, _), argument) in enumerate(zip(computed, before, strict=True)):
            what = f"the gradient of input tensor {index}"
            if not view.is_zero_outside(gradient):
                raise MismatchError(f"{what} is not zero where the output does not depend on the input")

            def recompute(index: int = index) -> Tensor:
                return replace(expected).gradients[index]

            dense = not argument.is_nested and argument.layout in _DENSE
            ties = partial(tied, argument, recompute) if dense else None
            largest = _gradient_terms(argument, expected.outputs, upstream)
            compare(case, what, view.inside(gradient), references[index], largest, ties)
    if case.spec.direction == TRAIN:
        for index, ((gradient, parameter), argument) in enumerate(zip(computed, before, strict=True)):
            after = adam_step(argument.detach(), gradient.detach().cpu().double())
            compare(case, f"parameter {index} after the step", parameter, after, largest_of([argument]))


def _reference_inputs(case: Case, inputs: Sequence[Any], reference: Reference) -> list[tuple[Any, bool]]:
    """Return each input that the reference takes, and whether it is passed transposed.

    The references of gnnbench's operations take dense tensors and parameters only, because they serve all
    platforms. A reference that takes more arguments also gets sparse tensors and containers of tensors.
    """
    reason = ""
    for with_containers in (False, True):
        pairs = list(_arguments(inputs, with_containers=with_containers))
        try:
            signature(reference).bind(case.graph, *pairs)
        except TypeError as error:
            reason = reason or str(error)
        except ValueError:  # a function written in C may have no signature
            return pairs
        else:
            return pairs
    raise MismatchError(
        f"the reference must take the graph and the {len(pairs)} inputs that have "
        f"floating-point or complex numbers: {reason}"
    )


def _arguments(inputs: Sequence[Any], *, with_containers: bool) -> Iterator[tuple[Any, bool]]:
    for item in inputs:
        if isinstance(item, nn.Module):
            parameters = list(item.parameters())
            # PyTorch's Linear and PyG's have [out, in].
            linear = {id(part.weight) for part in item.modules() if type(part).__name__ == "Linear"}
            yield from ((weight, id(weight) in linear) for weight in parameters if weight.dim() > 1)
            yield from ((bias, False) for bias in parameters if bias.dim() == 1)
        elif floats(item) and (with_containers or (isinstance(item, Tensor) and item.layout in _DENSE)):
            yield item, False


def _precise(item: Any, transposed: bool, view: View) -> Any:
    """Return a float64 copy of a tensor or container; with `transposed`, of each tensor's transpose."""

    def copy(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        values = value.t() if transposed else value
        return precise(view.inside(values)).requires_grad_(value.requires_grad)

    return tree_map(copy, item)


def _gradients(
    pairs: Sequence[tuple[Any, bool]], references: Sequence[Tensor], before: Sequence[Tensor]
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each input's dense gradient, and the input itself, both as the reference takes them.

    A missing gradient counts as zero; raises MismatchError if it should not be zero.
    """
    tensors = ((tensor, transposed) for item, transposed in pairs for tensor in floats(item))
    leaves = [(tensor, transposed) for tensor, transposed in tensors if tensor.requires_grad]
    matched = zip(leaves, references, before, strict=True)
    for index, ((tensor, transposed), expected, argument) in enumerate(matched):
        gradient = tensor.grad
        if gradient is None:
            if expected.any():
                raise MismatchError(f"the gradient of input tensor {index} is missing")
            yield torch.zeros_like(expected), tensor.t() if transposed else tensor
            continue
        gradient = _dense(gradient, argument)
        yield (gradient.t(), tensor.t()) if transposed else (gradient, tensor)


def _dense(gradient: Tensor, tensor: Tensor) -> Tensor:
    """Return a dense gradient of `tensor`; if `tensor` is sparse, return the values at its entries."""
    if tensor.is_nested:
        return flat(gradient)
    gradient = gradient if gradient.layout == torch.strided else gradient.to_dense()
    entries, _ = stored(tensor.detach())
    return gradient if entries is None else gradient.detach().cpu()[tuple(entries)]


def _comparable(module: ModuleType, output: Any, expected: Tensor) -> Tensor:
    """Return an output in the form of the reference: a graph's weights become a sparse matrix."""
    if isinstance(output, Tensor):
        # A one-dimensional reference of a sparse output has the values of the entries, in order.
        return stored(output)[1] if expected.dim() < output.dim() else output
    return torch.sparse_coo_tensor(entries_of(output), module.values(output), expected.shape).coalesce()


def _gradient_terms(argument: Tensor, outputs: Mapping[str, Any], upstream: Sequence[Tensor]) -> float:
    """Estimate the size of the terms whose sum is a gradient; the gradient is near 0 if they cancel.

    A term has about the size |upstream| |output| / |argument|. An entry of the argument gets one term from
    each output that depends on it: on average, as many terms as there are outputs per entry. |argument| is
    the standard deviation of the argument, because some functions, such as a softmax, ignore the mean.
    """
    parts = list(map(flat, floats(dict(outputs))))
    values = flat(argument.detach())
    if not values.numel():
        return 0.0
    size = (values - values.mean()).abs().square().mean().sqrt().item() or values.abs().max().item()
    if not size:
        return 0.0
    share = max(1.0, sum(part.numel() for part in parts) / values.numel())
    return largest_of(upstream) * largest_of(parts) * share / size
