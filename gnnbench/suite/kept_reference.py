"""Keeps the results of the last reference, for all platforms and directions of an operation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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
Check = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Expected:
    """A reference's results."""

    outputs: Mapping[str, Any]
    """By place, as `outputs.parts` names it."""
    gradients: tuple[Tensor, ...] | None
    """Of the arguments that need one; None: not computed."""


class Asked(NamedTuple):
    """What a reference is computed of."""

    reference: Reference
    view: View
    arguments: Sequence[Any]
    upstream: Upstream | None = None
    """None: `gradient_for` the first output."""

    def equals(self, other: "Asked", *, differentiate: bool) -> bool:
        """Return whether the results are the same; without gradients, `upstream` does not matter."""
        same = self.reference is other.reference and self.view is other.view
        same = same and _equal(self.arguments, other.arguments)
        return same and (not differentiate or _equal(self.upstream, other.upstream))


class KeptReference:
    """The last reference that was computed.

    Platforms get equal inputs, so that one reference serves all. Only the last one is kept: a large graph's
    takes hundreds of megabytes.
    """

    def __init__(self) -> None:
        self._view: tuple[object, View] | None = None
        self._last: tuple[Asked, Expected] | None = None

    def view(self, graph: Graph, width: int, operation: Operation | None) -> View:
        """Return how an operation is checked on a graph; the same view as before where it is the same."""
        how = graph, width, operation and (operation.linear, operation.reach, operation.end)
        if self._view is None or how != self._view[0]:
            self._view = how, view_of(graph, width, operation)
        return self._view[1]

    def of(self, asked: Asked, *, differentiate: bool, check: Check = lambda _: None) -> Expected:
        """Return the results, computed now if they are others than before; see `compute`."""
        if self._last:
            last, expected = self._last
            is_enough = expected.gradients is not None or not differentiate
            if is_enough and asked.equals(last, differentiate=differentiate):
                check(expected.outputs)
                return expected
        self._last = last = expected = None  # type: ignore[assignment] # frees them before the next is made
        expected = compute(asked, differentiate=differentiate, check=check)
        self._last = asked, expected
        return expected


def compute(asked: Asked, *, differentiate: bool, check: Check = lambda _: None) -> Expected:
    """Return the reference's results.

    `check` gets the outputs before gradients are made of them; what it raises, this raises.
    """
    with torch.set_grad_enabled(differentiate):
        outputs = opened(parts(asked.reference(asked.view.graph, *asked.arguments)))
    check(outputs)
    gradients = None
    if differentiate:
        upstream = asked.upstream or {}
        places = list(upstream or [""])
        if not outputs.keys() >= {*places}:
            places = differentiable(outputs)[: len(places)]
        given: list[Tensor | None] = [*upstream.values()] or [None]
        starts, ends = [], []
        for place, gradient in zip(places, given, strict=False):
            entries, values = stored(outputs[place])
            starts.append(values)
            ends.append(
                gradient_for(values, entries) if gradient is None or entries is not None else gradient
            )
        if len(starts) < len(given) or not all(tensor.requires_grad for tensor in starts):
            raise UncomparableError("the output needs no gradient, and that of the kernel does")
        wanted = [tensor for tensor in numbers(asked.arguments) if tensor.requires_grad]
        gradients = torch.autograd.grad(starts, wanted, ends, materialize_grads=True)
    plain = {place: part.detach() if isinstance(part, Tensor) else part for place, part in outputs.items()}
    return Expected(plain, gradients)


def opened(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return an output's parts by place, with each nested tensor's rows in its place."""
    rows: dict[str, Any] = {}
    for place, value in outputs.items():
        if isinstance(value, Tensor) and value.is_nested:
            rows |= {f"{place}[{row}]": values for row, values in enumerate(value.unbind())}
        else:
            rows[place] = value
    return rows


def differentiable(outputs: Mapping[str, Any]) -> list[str]:
    """Return the places of tensors that need a gradient, in order."""
    return sorted(place for place, part in outputs.items() if isinstance(part, Tensor) and part.requires_grad)


def numbers(inputs: Any) -> list[Tensor]:
    """Return the tensors with floating-point or complex numbers in a container, in order."""
    tensors = (tensor for tensor in tree_flatten(inputs)[0] if isinstance(tensor, Tensor))
    return [tensor for tensor in tensors if tensor.is_floating_point() or tensor.is_complex()]


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
