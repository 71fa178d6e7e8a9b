"""Runs a kernel with its backward pass; finds the parts of an output that need a gradient."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from ..engine.ground.outputs import UncomparableError, parts
from .accuracy import MismatchError
from .inputs import gradient_for
from .kept_reference import differentiable, floats, split_nested, stored


def with_backward(
    module: ModuleType, kernel: Callable[..., Any], inputs: Sequence[Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function that runs a kernel and its backward pass, and the function's inputs.

    The function's first input is the gradient of the output, or a tuple of gradients if the output has
    several parts. The kernel's inputs follow, as leaves, because each call leaves gradients in their `.grad`.
    Raises MismatchError if no part of the output needs a gradient, or if a part cannot be compared.
    """
    inputs = tuple(
        item if all(tensor.is_leaf for tensor in floats(item)) else tree_map(_leaf, item) for item in inputs
    )
    parameters = list(leaves([kernel]))
    deep = len(list(leaves(inputs))) < len(list(leaves(inputs, deep=True)))
    output = kernel(*inputs)
    several = not is_single(output)
    differentiable_parts = differentiated(module, output)
    if not differentiable_parts:
        raise MismatchError(
            "no part of the output requires a gradient, so no backward pass can be timed: pass "
            "directions=['forward'] to the marker"
        )
    gradients = tuple(gradient_for(values, entries) for entries, values in differentiable_parts.values())
    tensors = _tensors(output) if several else [module.values(output)]
    plain = all(tensor.layout == torch.strided and not tensor.is_nested for tensor in tensors)

    # The counters count each Python call in this function: one more would change their baselines.
    def run(gradients: Tensor | Sequence[Tensor], *inputs: Any) -> Any:
        for leaf in (*parameters, *leaves(inputs, deep)):
            leaf.grad = None
        output = kernel(*inputs)
        if not plain:
            values = [tensor for _, tensor in differentiated(module, output).values()]
            torch.autograd.backward(values, gradients)
        elif several:
            torch.autograd.backward(_tensors(output), gradients)
        else:
            module.values(output).backward(gradients)
        return output

    return run, (gradients if several else gradients[0], *inputs)


def _tensors(output: Any) -> list[Tensor]:
    values = (value for _, value in sorted(parts_of(output).items()))
    return [value for value in values if isinstance(value, Tensor) and value.requires_grad]


def _leaf(item: Any) -> Any:
    return item.detach().requires_grad_(item.requires_grad) if isinstance(item, Tensor) else item


def differentiated(module: ModuleType, output: Any) -> dict[str, tuple[Tensor | None, Tensor]]:
    """Return the indices and values of each output part that needs a gradient, by place: see `parts_of`."""
    if not is_single(output):
        tensors = split_nested(parts_of(output))
        return {place: stored(tensors[place]) for place in differentiable(tensors)}
    is_tensor = isinstance(output, Tensor)
    entries, values = stored(output) if is_tensor else (entries_of(output), module.values(output))
    return {"": (entries, values)} if values.requires_grad else {}


def leaves(inputs: Iterable[Any], deep: bool = False) -> Iterator[Tensor]:
    """Yield tensors that need a gradient, and modules' parameters; with `deep`, also inside containers."""
    for item in inputs:
        if isinstance(item, Tensor):
            if item.requires_grad:
                yield item
        elif isinstance(item, nn.Module):
            yield from item.parameters()
        elif deep and isinstance(item, tuple | list | dict):
            yield from leaves(item.values() if isinstance(item, dict) else item, deep)


def is_single(output: Any) -> bool:
    """Return whether an output is one tensor, or a weighted graph that a platform's `values` takes."""
    if isinstance(output, tuple):
        return len(output) == 2 and _is_index(output[0]) and isinstance(output[1], Tensor)  # noqa: PLR2004
    is_graph = type(output).__name__ in ("SparseTensor", "DGLGraph")
    return is_graph or (isinstance(output, Tensor) and not output.is_nested)


def entries_of(graph: Any) -> Tensor:
    """Return targets and sources of (edge_index, weight), a SparseTensor or a DGLGraph: int64 [2, M]."""
    if isinstance(graph, tuple):
        return graph[0].flip(0).long()
    source, target = graph.edges() if hasattr(graph, "edges") else (graph.storage.col(), graph.storage.row())
    return torch.stack((target, source)).long()


def _is_index(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dim() == 2 and not floats(value)  # noqa: PLR2004


def parts_of(output: Any) -> dict[str, Any]:
    """Return an output's parts by place, such as `['a'][0]`; raise MismatchError if one is not comparable."""
    try:
        return parts(output)
    except UncomparableError as error:
        raise MismatchError(
            f"{error}, which cannot be compared: pass measure(..., result=function) to return its tensors"
        ) from None


_STEP = 1e-12
"""Relative step of `tied`: too small to change the gradients of entries that do not tie."""
_MOST_ROUNDS = 32
"""In a tie of several entries, a round of `tied` finds one of them, or all if they share the gradient."""


def tied(
    argument: Tensor,
    recompute: Callable[[], Tensor],
    wrong: Tensor,
    computed: Tensor,
    expected: Tensor,
    allowed: Tensor,
) -> Tensor:
    """Return at which entries a gradient may differ because entries of the argument tie for a maximum.

    The entries of the reference's `argument` whose gradient is `wrong` are moved up and down a little, which
    decides each tie both ways. Where the reference's gradient, `recompute()`, then jumps by more than
    `allowed`, both values are right. `argument` is moved in place and restored.
    """
    jumps = torch.zeros_like(wrong)
    original = argument.detach().clone()
    size = _STEP * original.abs().clamp(min=original.abs().square().mean().sqrt().item())
    size *= 1 + torch.rand(size.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    signs = (computed.abs() - expected.abs()).sign()
    try:
        for _ in range(_MOST_ROUNDS):
            shift = torch.where(wrong & ~jumps & computed.isfinite(), signs * size, 0.0)
            previous = jumps.clone()
            for step in (shift, -shift):
                with torch.no_grad():
                    argument.copy_(original + step)
                jumps |= (recompute() - expected).abs() > allowed
            if torch.equal(previous, jumps) or not bool((wrong & ~jumps).any()):
                break
    finally:
        with torch.no_grad():
            argument.copy_(original)
    return jumps & computed.isfinite()
