"""Keeps the results of the last reference, for all platforms and directions of an operation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..outputs import parts
from .definitions import Reference
from .graphs.graph import Graph
from .inputs import gradient_for
from .operation import Operation
from .view import View, view_of


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
        self._arguments: list[Tensor] = []
        self._upstream: Sequence[Tensor] | None = None
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
        arguments: list[Tensor],
        upstream: Sequence[Tensor] | None,
        *,
        differentiate: bool,
    ) -> Expected:
        """Return the results for these arguments, computed now if they are others than before.

        Args:
            reference: called with the view's graph and the arguments.
            view: what the reference gets.
            arguments: float64, as the view has them.
            upstream: gradients of the first outputs that need one, as the view has them; None: `gradient_for`
                the first.
            differentiate: whether gradients are needed.
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
            kept = _compute(reference, view, arguments, upstream, differentiate=differentiate)
            self._reference, self._viewed, self._arguments = reference, view, arguments
            self._upstream, self._expected = upstream, kept
        return kept


def _compute(
    reference: Reference,
    view: View,
    arguments: Sequence[Tensor],
    upstream: Sequence[Tensor] | None,
    *,
    differentiate: bool,
) -> Expected:
    with torch.set_grad_enabled(differentiate):
        result = reference(view.graph, *arguments)
    outputs = parts(result)
    gradients = None
    if differentiate:
        starts = differentiable(outputs)
        if upstream is None or starts[0].is_sparse:
            entries = starts[0].coalesce().indices() if starts[0].is_sparse else None
            starts = [starts[0].coalesce().values() if starts[0].is_sparse else starts[0]]
            upstream = [gradient_for(starts[0], entries)]
        wanted = [argument for argument in arguments if argument.requires_grad]
        gradients = torch.autograd.grad(starts[: len(upstream)], wanted, upstream, materialize_grads=True)
    kept = {place: one.detach() if isinstance(one, Tensor) else one for place, one in outputs.items()}
    return Expected(kept, gradients)


def differentiable(outputs: Mapping[str, Any]) -> list[Tensor]:
    """Return the tensors that need a gradient, in the order of their places."""
    return [one for _, one in sorted(outputs.items()) if isinstance(one, Tensor) and one.requires_grad]


def _equal(some: Sequence[Tensor] | None, others: Sequence[Tensor] | None) -> bool:
    if some is None or others is None:
        return some is others
    return len(some) == len(others) and all(map(torch.equal, some, others))
