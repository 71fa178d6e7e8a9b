"""Keeps the results of the last reference, for all platforms and directions of an operation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten

from ..engine.ground.outputs import UncomparableError, parts
from .definitions import Reference
from .graphs.graph import Graph
from .inputs import gradient_for
from .operation import Operation
from .view import View, view_of

Upstream = Mapping[str, Tensor]
"""Gradients of an output's parts, by place."""


@dataclass(frozen=True)
class Expected:
    """A reference's results."""

    outputs: Mapping[str, Any]
    """By place, as `outputs.parts` names it."""
    gradients: tuple[Tensor, ...] | None
    """Of the arguments that need one; None: not computed."""


class KeptReference:
    """The last reference that was computed, with its arguments.

    Platforms get equal inputs, so that one reference serves all. Only the last one is kept: a large graph's
    takes hundreds of megabytes.
    """

    def __init__(self) -> None:
        self._reference: Reference | None = None
        self._view: View | None = None
        self._view_of: tuple[object, ...] = ()
        self._viewed: View | None = None
        self._arguments: Sequence[Any] = []
        self._upstream: Upstream | None = None
        self._expected: Expected | None = None

    def view(self, graph: Graph, width: int, operation: Operation | None) -> View:
        """Return how an operation is checked on a graph; the same view as before where it is the same."""
        how = operation and (operation.linear, operation.reach, operation.end)
        wanted = (graph, width, how)
        if self._view is None or wanted != self._view_of:
            self._view, self._view_of = view_of(graph, width, operation), wanted
        return self._view

    def of(
        self,
        reference: Reference,
        view: View,
        arguments: Sequence[Any],
        upstream: Upstream | None,
        *,
        differentiate: bool,
        check: Callable[[Mapping[str, Any]], None] = lambda _: None,
    ) -> Expected:
        """Return the results for these arguments, computed now if they are others than before.

        `upstream` has gradients of the outputs, as the view has them; None: `gradient_for` the first. `check`
        gets the outputs before gradients are made of them; what it raises, `of` raises.
        """
        kept = self._expected
        if (
            kept is None
            or reference is not self._reference
            or view is not self._viewed
            or not _equal(arguments, self._arguments)
            or (differentiate and (kept.gradients is None or not _equal(upstream, self._upstream)))
        ):
            self._expected = None  # frees it before the next is made
            kept = compute(reference, view, arguments, upstream, differentiate=differentiate, check=check)
            self._reference, self._viewed, self._arguments = reference, view, arguments
            self._upstream, self._expected = upstream, kept
        else:
            check(kept.outputs)
        return kept


def compute(
    reference: Reference,
    view: View,
    arguments: Sequence[Any],
    upstream: Upstream | None,
    *,
    differentiate: bool,
    check: Callable[[Mapping[str, Any]], None] = lambda _: None,
) -> Expected:
    """Return the reference's results, as `KeptReference.of` does."""
    with torch.set_grad_enabled(differentiate):
        outputs = opened(parts(reference(view.graph, *arguments)))
    check(outputs)
    gradients = None
    if differentiate:
        places = list(upstream or [""])
        if not outputs.keys() >= {*places}:
            places = differentiable(outputs)[: len(places)]
        given = list(upstream.values()) if upstream else [None]
        starts, ends = [], []
        for place, gradient in zip(places, given, strict=False):
            entries, values = stored(outputs[place])
            starts.append(values)
            ends.append(
                gradient_for(values, entries) if gradient is None or entries is not None else gradient
            )
        if len(starts) < len(given) or not all(one.requires_grad for one in starts):
            raise UncomparableError("the output needs no gradient, and that of the kernel does")
        wanted = [one for one in numbers(arguments) if one.requires_grad]
        gradients = torch.autograd.grad(starts, wanted, ends, materialize_grads=True)
    kept = {place: one.detach() if isinstance(one, Tensor) else one for place, one in outputs.items()}
    return Expected(kept, gradients)


def opened(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return an output's parts by place, with each nested tensor's rows in its place."""
    found: dict[str, Any] = {}
    for place, one in outputs.items():
        if isinstance(one, Tensor) and one.is_nested:
            found |= {f"{place}[{row}]": values for row, values in enumerate(one.unbind())}
        else:
            found[place] = one
    return found


def differentiable(outputs: Mapping[str, Any]) -> list[str]:
    """Return the places of tensors that need a gradient, in order."""
    return sorted(place for place, one in outputs.items() if isinstance(one, Tensor) and one.requires_grad)


def numbers(inputs: Any) -> list[Tensor]:
    """Return the tensors with floating-point or complex numbers in a container, in order."""
    tensors = (one for one in tree_flatten(inputs)[0] if isinstance(one, Tensor))
    return [one for one in tensors if one.is_floating_point() or one.is_complex()]


def stored(tensor: Tensor) -> tuple[Tensor | None, Tensor]:
    """Return the entries of a sparse tensor, and its values; of another one None, and itself."""
    if tensor.layout in (torch.strided, torch.jagged):
        return None, tensor
    if tensor.layout == torch.sparse_coo:
        tensor = tensor.coalesce()
        return tensor.indices(), tensor.values()
    return tensor.detach().to_sparse_coo()._indices(), tensor.values()  # noqa: SLF001 - CSC is not coalesced


def _equal(some: Any, others: Any) -> bool:
    (some, form), (others, other_form) = tree_flatten(some), tree_flatten(others)
    return form == other_form and all(map(_same, some, others))


def _same(value: Any, other: Any) -> bool:
    if not isinstance(value, Tensor) or value.is_nested:
        return value is other
    if value.layout != other.layout:
        return False
    (entries, values), (other_entries, other_values) = stored(value), stored(other)
    if entries is not None and other_entries is not None and not torch.equal(entries, other_entries):
        return False
    return torch.equal(values, other_values)
