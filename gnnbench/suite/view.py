"""Which values are compared with the reference: all entries, a random projection, or a random sample.

On a large graph, a float64 reference takes many times as long as the kernel. So from LARGE on, only a
projection of a linear operation's columns is checked, or a sample of a local operation's rows. Both take O(E)
or less. Both are seeded, so each run checks the same values.
"""

import torch
from torch import Tensor

from .graphs.graph import Graph
from .operation import Operation

LARGE = 1 << 26
"""If a graph's entries times the feature width reach this, only a part of each output is checked."""
PROJECTIONS = 8
"""Number of random projections by which a linear operation is checked."""
SAMPLED_ROWS = 4096
"""Largest number of rows that are checked of a local operation, one with a `reach`."""
_ROWS_AT_ONCE = 1 << 20
"""Rows that are converted to float64 at a time."""
_SAMPLED_VALUES = 1 << 24
"""Largest number of values at the entries that a sample reaches: 128 MiB in float64."""


class View:
    """Compares all values, entry by entry.

    The kernel gets `upstream(gradient)` as its output's gradient. The reference gets `graph` and
    `inside(input)` of each input. `output(...)` of the kernel is compared with `expected(...)` of the
    reference.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def inside(self, tensor: Tensor) -> Tensor:
        """Return the part of an input that the reference gets: all of it."""
        return tensor

    upstream = output = expected = inside

    def is_zero_outside(self, gradient: Tensor) -> bool:  # noqa: ARG002 - there is nothing outside
        """Return whether an input's gradient is zero in the rows that `inside` leaves out."""
        return True


class Projection(View):
    """Compares random signed sums of columns: `out @ r` with the reference of `x @ r` (Freivalds, 1977).

    For operations that map each column of an input [N, F] or [E, F] linearly to the same column of an output
    [N, F]. The entries of r [F, 8] are 1 or -1. An error in one entry of a row shows in all eight columns.
    Errors in several entries of a row cancel in all eight columns with a probability of at most 2**-8, and
    errors in n rows with at most 2**(-8 n). Errors are relative to the row's norm, so this is up to sqrt(F)
    times less sensitive than comparing each entry.
    """

    def inside(self, tensor: Tensor) -> Tensor:
        """Return the projected columns: float64 [N, 8]."""
        generator = torch.Generator().manual_seed(0)
        signs = torch.randint(2, (tensor.size(1), PROJECTIONS), generator=generator).double() * 2 - 1
        return torch.cat([part.cpu().double() @ signs for part in tensor.detach().split(_ROWS_AT_ONCE)])

    output = inside


class Rows(View):
    """Compares a random sample of rows; the reference gets the part of the graph that these rows depend on.

    Outside the sample, the output's gradient is set to zero, so the gradients of inputs and parameters depend
    on the sample only, and are zero at nodes that the sample does not reach. If a fraction p of the rows is
    wrong, n sampled rows miss all of them with a probability of (1 - p)**n: with p = 1 % and 4,096 rows, less
    than 10**-17. A single wrong row is missed with a probability of 1 - n / N. The sample always includes the
    last node, the node with the fewest neighbours and, if `reach` is 1, the node with the most.
    """

    def __init__(self, graph: Graph, reach: int, width: int, end: int = 1) -> None:
        """Sample SAMPLED_ROWS nodes, or fewer if they reach too many entries; `reach` as in `Operation`."""
        ends, far_ends = graph.edge_index[end], graph.edge_index[1 - end]
        degree = ends.bincount(minlength=graph.num_nodes)
        fixed = [graph.num_nodes - 1, int(degree.argmin()), *([int(degree.argmax())] if reach == 1 else [])]
        order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(0))
        count = SAMPLED_ROWS
        self._num_nodes, self._num_edges = graph.num_nodes, graph.num_edges
        while True:
            sample = torch.zeros(graph.num_nodes, dtype=torch.bool)
            sample[order[:count]] = sample[fixed] = True
            self._sampled_nodes = nodes = sample
            self._sampled_entries = entries = sample[ends]
            for hop in range(reach):
                entries = entries if hop == 0 else nodes[ends]
                nodes = nodes.clone()
                nodes[far_ends[entries]] = True
            if count == 1 or int(entries.sum()) * width <= _SAMPLED_VALUES:
                break
            count //= 2
        self._reached_nodes = nodes.nonzero().squeeze(1)
        self._reached_entries = entries.nonzero().squeeze(1)
        self.graph = graph.part(self._reached_nodes, self._reached_entries)

    def upstream(self, gradient: Tensor) -> Tensor:
        """Return the gradient, with zeros outside the sample."""
        sample = self._sampled_nodes if len(gradient) == self._num_nodes else self._sampled_entries
        return gradient * sample.to(gradient).view(-1, *(1,) * (gradient.dim() - 1))

    def inside(self, tensor: Tensor) -> Tensor:
        """Return the rows of nodes or entries that the sample reaches; other tensors are returned whole."""
        index = self._rows_inside(tensor)
        return tensor if index is None else tensor.detach()[index.to(tensor.device)]

    def is_zero_outside(self, gradient: Tensor) -> bool:
        """Return whether the gradient is zero at nodes or entries that the sample does not reach."""
        index = self._rows_inside(gradient)
        if index is None:
            return True
        outside = torch.ones(len(gradient), dtype=torch.bool)
        outside[index] = False
        return not bool(gradient.detach()[outside.to(gradient.device)].any())

    def output(self, output: Tensor) -> Tensor:
        """Return the rows of sampled nodes, or of entries that end at sampled nodes."""
        sample = self._sampled_nodes if len(output) == self._num_nodes else self._sampled_entries
        return output[sample.to(output.device)]

    def expected(self, output: Tensor) -> Tensor:
        """Return the same rows of the reference's output, which covers only the part of the graph."""
        if len(output) == len(self._reached_nodes):
            return output[self._sampled_nodes[self._reached_nodes]]
        return output[self._sampled_entries[self._reached_entries]]

    def _rows_inside(self, tensor: Tensor) -> Tensor | None:
        """Return the indices of the rows that `inside` returns. None if they are no nodes or entries."""
        size = len(tensor) if tensor.dim() else 0
        return {self._num_nodes: self._reached_nodes, self._num_edges: self._reached_entries}.get(size)


def view_of(graph: Graph, width: int, operation: Operation | None) -> View:
    """Return the view that checks an operation on a graph; `operation` is None if it is the user's own."""
    if operation is None or graph.num_edges * width < LARGE:
        return View(graph)
    if operation.linear:
        return Projection(graph)
    return View(graph) if operation.reach is None else Rows(graph, operation.reach, width, operation.end)
