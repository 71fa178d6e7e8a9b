"""Caches the last reference's outputs and gradients, for all platforms and directions of an operation.

The place of a part is its path in the output, such as `['a'][0]`; it is `""` if the output is one tensor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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


@dataclass
class Expected:
    """A reference's outputs, by place, and the gradients of its arguments; both are computed at first use."""

    reference: Reference
    view: View
    arguments: Sequence[Any]
    upstream: Mapping[str, Tensor] | None = None
    """The gradients of the output's parts, by place. If None, `gradient_for` makes one for the first part."""
    differentiate: bool = False

    @cached_property
    def outputs(self) -> dict[str, Any]:
        with torch.set_grad_enabled(self.differentiate):
            return split_nested(parts(self.reference(self.view.graph, *self.arguments)))

    @cached_property
    def gradients(self) -> tuple[Tensor, ...]:
        """The gradients of the arguments that need one."""
        upstream: Mapping[str, Tensor | None] = self.upstream or {"": None}
        places = list(upstream)
        if not self.outputs.keys() >= upstream.keys():
            places = differentiable(self.outputs)[: len(places)]
        outputs, grad_outputs = [], []
        for place, gradient in zip(places, upstream.values(), strict=False):
            entries, values = stored(self.outputs[place])
            outputs.append(values)
            if gradient is None or entries is not None:
                gradient = gradient_for(values, entries)  # noqa: PLW2901
            grad_outputs.append(gradient)
        if len(outputs) < len(upstream) or not all(tensor.requires_grad for tensor in outputs):
            raise UncomparableError("its output requires no gradient, but the kernel's output does")
        leaves = [tensor for tensor in floats(self.arguments) if tensor.requires_grad]
        gradients = torch.autograd.grad(outputs, leaves, grad_outputs, materialize_grads=True)
        # Detaching the outputs frees the memory that the backward pass needed.
        detached = {place: part.detach() for place, part in self.outputs.items() if isinstance(part, Tensor)}
        self.outputs |= detached
        return gradients

    def serves(self, other: "Expected") -> bool:
        """Return whether `other` has the same outputs and, if it needs gradients, the same gradients."""
        same = self.reference is other.reference and self.view is other.view
        same = same and self.differentiate >= other.differentiate and _equal(self.arguments, other.arguments)
        return same and (not other.differentiate or _equal(self.upstream, other.upstream))


class KeptReference:
    """Caches the last reference that was computed.

    Platforms get equal inputs, so one reference serves all platforms. Only the last reference is kept,
    because it takes hundreds of megabytes on a large graph.
    """

    def __init__(self) -> None:
        self._view: tuple[object, View] | None = None
        self._last: Expected | None = None

    def view(self, graph: Graph, width: int, operation: Operation | None) -> View:
        """Return the view that checks an operation: the last view again if its arguments are equal."""
        key = graph, width, operation and (operation.linear, operation.reach, operation.end)
        if self._view is None or key != self._view[0]:
            self._view = key, view_of(graph, width, operation)
        return self._view[1]

    def of(self, expected: Expected) -> Expected:
        """Return the last reference if it serves for `expected`; otherwise keep and return `expected`."""
        if self._last is None or not self._last.serves(expected):
            self._last = expected  # frees the memory of the last one before this one is computed
        return self._last


def split_nested(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return an output's parts by place; each row of a nested tensor becomes a part."""
    rows: dict[str, Any] = {}
    for place, value in outputs.items():
        if isinstance(value, Tensor) and value.is_nested:
            rows |= {f"{place}[{row}]": values for row, values in enumerate(value.unbind())}
        else:
            rows[place] = value
    return rows


def differentiable(outputs: Mapping[str, Any]) -> list[str]:
    """Return the places of tensors that need a gradient, sorted."""
    return sorted(place for place, part in outputs.items() if isinstance(part, Tensor) and part.requires_grad)


def floats(inputs: Any) -> list[Tensor]:
    """Return the floating-point and complex tensors in a container, in order."""
    tensors = (tensor for tensor in tree_flatten(inputs)[0] if isinstance(tensor, Tensor))
    return [tensor for tensor in tensors if tensor.is_floating_point() or tensor.is_complex()]


def stored(tensor: Tensor) -> tuple[Tensor | None, Tensor]:
    """Return the indices and values of a sparse tensor; for a dense one, None and the tensor itself."""
    if tensor.layout in (torch.strided, torch.jagged):
        return None, tensor
    if tensor.layout == torch.sparse_coo:
        tensor = tensor.coalesce()
        return tensor.indices(), tensor.values()
    return tensor.detach().to_sparse_coo()._indices(), tensor.values()  # noqa: SLF001 - from CSC it is uncoalesced


def _equal(values: Any, other_values: Any) -> bool:
    (values, structure), (other_values, other_structure) = tree_flatten(values), tree_flatten(other_values)
    return structure == other_structure and all(map(_equal_leaves, values, other_values))


def _equal_leaves(value: Any, other: Any) -> bool:
    if not isinstance(value, Tensor) or value.is_nested:
        return value is other
    if value.layout != other.layout:
        return False
    (entries, values), (other_entries, other_values) = stored(value), stored(other)
    if entries is not None and other_entries is not None and not torch.equal(entries, other_entries):
        return False
    return torch.equal(values, other_values)
