"""Keeps the results of the last reference, for all platforms and directions of an operation."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .case import gradient_for
from .graphs.graph import Graph
from .operation import Operation
from .reference import Reference
from .view import View, view_of


@dataclass(frozen=True)
class Expected:
    """A reference's results."""

    outputs: tuple[Tensor, ...]
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
        self._gradient: Tensor | None = None
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
        gradient: Tensor | None,
        *,
        differentiate: bool,
    ) -> Expected:
        """Return the results for these arguments, computed now if they are others than before.

        Args:
            reference: called with the view's graph and the arguments.
            view: what the reference gets.
            arguments: float64, as the view has them.
            gradient: the output's gradient, as the view has it; None: `gradient_for` the output.
            differentiate: whether gradients are needed.
        """
        kept = self._expected
        if (
            kept is None
            or reference is not self._reference
            or view is not self._viewed
            or not _equal(arguments, self._arguments)
            or (differentiate and (kept.gradients is None or not _same(gradient, self._gradient)))
        ):
            self._expected = None  # frees it before the next is made
            kept = _compute(reference, view, arguments, gradient, differentiate=differentiate)
            self._reference, self._viewed, self._arguments = reference, view, arguments
            self._gradient, self._expected = gradient, kept
        return kept


def _compute(
    reference: Reference,
    view: View,
    arguments: Sequence[Tensor],
    gradient: Tensor | None,
    *,
    differentiate: bool,
) -> Expected:
    with torch.set_grad_enabled(differentiate):
        result = reference(view.graph, *arguments)
    outputs = result if isinstance(result, tuple) else (result,)
    gradients = None
    if differentiate:
        output = next(one for one in outputs if one.requires_grad)
        start = output.coalesce().values() if output.is_sparse else output
        if gradient is None or output.is_sparse:
            gradient = gradient_for(start, output.coalesce().indices() if output.is_sparse else None)
        wanted = [argument for argument in arguments if argument.requires_grad]
        gradients = torch.autograd.grad(start, wanted, gradient)
    return Expected(tuple(output.detach() for output in outputs), gradients)


def _equal(some: Sequence[Tensor], others: Sequence[Tensor]) -> bool:
    return len(some) == len(others) and all(map(_same, some, others))


def _same(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    return torch.equal(one, other)
