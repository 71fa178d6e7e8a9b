"""Families of operations, and all ways to compute each: library calls, and alternatives in plain PyTorch.

A library's call is what its users write, so it stands for the library's choice. The alternatives are what the
library could do instead.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ...suite.annotations import Case, Edges, Graph, Tensor
from ...suite.libraries import functional, inputs, on_torch, torch, utils
from ...suite.operation import Call, Operation
from ...suite.operations import OPERATIONS
from ...suite.operations.edge_list import edges_of, keys, listed, shuffled, unchanged, with_duplicates
from ...suite.operations.scatter import Destination, offsets, unsorted_index


class Implementation(NamedTuple):
    """A way: an implementation of an operation."""

    operation: Operation
    """The operation; for an alternative, the first operation of its family."""
    platform: str
    """The platform; for an alternative, a platform whose module can read the output."""
    call: Call
    is_call: bool
    """Whether the way is a library call (the operation's call on the platform), not an alternative."""

    @property
    def id(self) -> str:
        """The way's name in tables and files."""
        if self.is_call:
            return f"{self.operation.name} on {self.platform}"
        return self.call.text


class Family(NamedTuple):
    """Operations with the same inputs and results."""

    operations: tuple[str, ...]
    inputs: Callable[[Case], tuple[Tensor, ...]]
    """Returns the arguments that a way takes after the graph's structure."""
    further: tuple[Call, ...]
    """The alternatives, in plain PyTorch."""
    excluded: tuple[str, ...] = ()
    """Ids of library calls to leave out: they return something else, or take inputs of one width only."""
    has_features: bool = True
    """Whether the shape of an input depends on the feature width."""

    def implementations(self) -> Iterator[Implementation]:
        """Yield all ways, including those whose library is not installed."""
        operations = [OPERATIONS[name] for name in self.operations]
        for operation in operations:
            for platform, call in operation.calls.items():
                way = Implementation(operation, platform, call, is_call=True)
                if way.id not in self.excluded:
                    yield way
        for call in self.further:
            yield Implementation(operations[0], "pyg", call, is_call=False)


class Csr(NamedTuple):
    """A CSR matrix of ones: rows are targets, columns sources."""

    sources: Tensor
    """int [E], sorted by target."""
    offsets: Tensor
    """int [N + 1], the row pointer."""


def structure_kind(structure: Any, graph: Graph) -> str:
    """Return the kind of a structure, such as CSR or edge list. Equal kinds need no conversion."""
    kind = type(structure).__name__
    if kind in ("Edges", "tuple"):
        return structure_kind(structure[0], graph)
    if not isinstance(structure, torch.Tensor) or kind == "EdgeIndex":
        return {"Destination": "index", "Csr": "CSR"}.get(kind, kind)
    if structure.layout != torch.strided:
        return str(structure.layout).rpartition("_")[2].upper()
    if structure.dim() > 1:
        return "edge list"
    return "index" if len(structure) == graph.num_edges else "row pointer"


def _features(case: Case) -> tuple[Tensor]:
    return (case.features(),)


def _messages(case: Case) -> tuple[Tensor]:
    return (case.tensor(inputs.pattern(case.graph.num_edges, case.spec.hidden)),)


def _scores(case: Case) -> tuple[Tensor]:
    return (case.tensor(inputs.pattern(case.graph.num_edges, case.spec.hidden, case.dtype, shift=100)),)


def _weights(case: Case) -> tuple[Tensor]:
    return (case.edge_weight(),)


def _nothing(_case: Case) -> tuple[()]:
    return ()


def _coo(case: Case) -> Tensor:
    return on_torch.structure(case).to_sparse_coo()


def _csr(case: Case) -> Csr:
    pointer, source, _ = case.csr()
    return Csr(source, pointer)


def _scatter_reduce(to: Destination, messages: Tensor, reduce: str) -> Tensor:
    out = messages.new_zeros(to.num_nodes, messages.size(1))
    index = to.indices.unsqueeze(1).expand_as(messages)
    return out.scatter_reduce_(0, index, messages, reduce, include_self=False)


def _index_reduce(to: Destination, messages: Tensor, reduce: str) -> Tensor:
    out = messages.new_zeros(to.num_nodes, messages.size(1))
    return out.index_reduce_(0, to.indices, messages, reduce, include_self=False)


def _index_add_mean(to: Destination, messages: Tensor) -> Tensor:
    total = messages.new_zeros(to.num_nodes, messages.size(1)).index_add_(0, to.indices, messages)
    return total / torch.bincount(to.indices, minlength=to.num_nodes).clamp_(min=1).unsqueeze(1)


def _segments(messages: Tensor, pointer: Tensor, reduce: str) -> Tensor:
    if reduce != "max":
        return torch.segment_reduce(messages, reduce, offsets=pointer, initial=0)
    maxima = torch.segment_reduce(messages, reduce, offsets=pointer)
    return torch.where(maxima.isinf(), 0, maxima)


def _product(pointer: Tensor, columns: Tensor, x: Tensor, reduce: str) -> Tensor:
    """Multiply a CSR matrix of ones by x; `reduce` names the reduction over a row."""
    size = (len(pointer) - 1, len(x))
    matrix = torch.sparse_csr_tensor(pointer, columns, x.new_ones(len(columns)), size, check_invariants=False)
    return torch.sparse.mm(matrix, x, reduce)


def _sort(to: Destination) -> tuple[Tensor, Tensor]:
    """Sort an index; return the row pointer of the sorted index, and the permutation that sorted it."""
    index, order = to.indices.sort(stable=True)
    return torch._convert_indices_from_coo_to_csr(index, to.num_nodes), order  # noqa: SLF001


def _sorted_segments(to: Destination, messages: Tensor, reduce: str) -> Tensor:
    pointer, order = _sort(to)
    return _segments(messages.index_select(0, order), pointer, reduce)


def _sorted_product(to: Destination, messages: Tensor, reduce: str) -> Tensor:
    return _product(*_sort(to), messages, reduce)


def _segments_by_product(pointer: Tensor, messages: Tensor, reduce: str) -> Tensor:
    order = torch.arange(len(messages), dtype=pointer.dtype, device=pointer.device)
    return _product(pointer, order, messages, reduce)


def _segments_by_bag(pointer: Tensor, messages: Tensor, mode: str) -> Tensor:
    order = torch.arange(len(messages), dtype=pointer.dtype, device=pointer.device)
    return functional.embedding_bag(order, messages, pointer, mode=mode, include_last_offset=True)


def _segments_by_index(pointer: Tensor, messages: Tensor, reduce: str) -> Tensor:
    """Reduce segments with an index that names the segment of each message."""
    lengths = pointer.diff()
    node = torch.arange(len(lengths), dtype=pointer.dtype, device=pointer.device)
    to = Destination(node.repeat_interleave(lengths, output_size=len(messages)), len(lengths))
    if reduce == "sum":
        return messages.new_zeros(len(lengths), messages.size(1)).index_add_(0, to.indices, messages)
    return _index_reduce(to, messages, reduce)


def _gathered(edge_index: Tensor, x: Tensor, reduce: str) -> Tensor:
    source, target = edge_index
    return utils.scatter(x.index_select(0, source), target, 0, x.size(0), reduce)


def _gathered_index_reduce(edge_index: Tensor, x: Tensor, reduce: str) -> Tensor:
    source, target = edge_index
    return _index_reduce(Destination(target, x.size(0)), x.index_select(0, source), reduce)


def _gathered_segments(csr: Csr, x: Tensor, reduce: str) -> Tensor:
    return _segments(x.index_select(0, csr.sources), csr.offsets, reduce)


def _csr_product(edge_index: Tensor, x: Tensor, reduce: str) -> Tensor:
    """Make a CSR matrix from edges that are sorted by target, and multiply it by x."""
    source, target = edge_index
    pointer = torch._convert_indices_from_coo_to_csr(  # noqa: SLF001 - it has no public name
        target, x.size(0), out_int32=target.dtype == torch.int32
    )
    return _product(pointer, source, x, reduce)


def _softmax(graph: Edges, score: Tensor, maxima: Callable[..., Tensor]) -> Tensor:
    """Return the softmax over the edges of each target; `maxima` computes each target's largest score."""
    to = Destination(graph.edge_index[1], graph.num_nodes)
    shifted = score - maxima(to, score.detach(), "amax").index_select(0, to.indices)
    exponential = shifted.exp()
    total = score.new_zeros(to.num_nodes, score.size(1)).index_add_(0, to.indices, exponential)
    return exponential / total.index_select(0, to.indices)


def _softmax_of_segments(pointer: Tensor, score: Tensor) -> Tensor:
    repeated = partial(torch.repeat_interleave, repeats=pointer.diff(), dim=0, output_size=len(score))
    shifted = score - repeated(torch.segment_reduce(score.detach(), "max", offsets=pointer))
    exponential = shifted.exp()
    return exponential / repeated(torch.segment_reduce(exponential, "sum", offsets=pointer))


def _count(to: Destination) -> Tensor:
    ones = torch.ones(len(to.indices), device=to.indices.device)
    return ones.new_zeros(to.num_nodes).index_add_(0, to.indices, ones)


def _distinct(edges: Edges, weight: Tensor) -> tuple[Tensor, Tensor]:
    distinct, number = keys(edges.edge_index, edges.num_nodes).unique(return_inverse=True)
    return edges_of(distinct, edges.num_nodes), weight.new_zeros(len(distinct)).index_add_(0, number, weight)


def _sorted_distinct(edges: Edges, weight: Tensor) -> tuple[Tensor, Tensor]:
    ordered, order = keys(edges.edge_index, edges.num_nodes).sort()
    distinct, number = ordered.unique_consecutive(return_inverse=True)
    total = weight.new_zeros(len(distinct)).index_add_(0, number, weight.index_select(0, order))
    return edges_of(distinct, edges.num_nodes), total


def _csr_by_keys(edges: Edges, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    ordered, order = keys(edges.edge_index, edges.num_nodes).sort()
    source, target = edges_of(ordered, edges.num_nodes)
    pointer = torch._convert_indices_from_coo_to_csr(source, edges.num_nodes)  # noqa: SLF001
    return pointer, target, weight.index_select(0, order)


def _csr_by_two_sorts(edges: Edges, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    source, target = edges.edge_index
    target, first = target.sort()
    source, second = source.index_select(0, first).sort(stable=True)
    pointer = torch._convert_indices_from_coo_to_csr(source, edges.num_nodes)  # noqa: SLF001
    return pointer, target.index_select(0, second), weight.index_select(0, first.index_select(0, second))


_AMAX = {"max": "amax"}
"""torch's names of reductions that differ from PyG's."""


def _neighbour_ways(reduce: str, *more: Call) -> tuple[Call, ...]:
    """Return ways to reduce over neighbours."""
    amax = _AMAX.get(reduce, reduce)
    csr_call = f"CSR made in each call, torch.sparse.mm(..., '{amax}')"
    return (
        Call("index_select, utils.scatter", partial(_gathered, reduce=reduce), build="edges"),
        Call("index_select, segment_reduce", partial(_gathered_segments, reduce=reduce), build=_csr),
        Call(csr_call, partial(_csr_product, reduce=amax), build="edges"),
        *more,
    )


_on_index = partial(Call, build=unsorted_index)
_on_duplicates = partial(Call, build=partial(listed, with_duplicates), result=unchanged)
_on_numbered = partial(Call, build="numbered_edges")
_on_shuffled = partial(Call, build=partial(listed, shuffled), result=unchanged)


def _scatter_ways(reduce: str, *more: Call) -> tuple[Call, ...]:
    """Return ways to reduce messages by an unsorted index."""
    amax = _AMAX.get(reduce, reduce)
    return (
        _on_index("sort, segment_reduce", partial(_sorted_segments, reduce=reduce)),
        _on_index(f"sort, torch.sparse.mm(..., '{amax}')", partial(_sorted_product, reduce=amax)),
        *more,
    )


def _segment_ways(reduce: str) -> tuple[Call, ...]:
    """Return ways to reduce messages that are sorted by segment."""
    amax = _AMAX.get(reduce, reduce)
    call = partial(Call, build=offsets)
    indexed = "index_add_" if reduce == "sum" else f"index_reduce_(..., '{amax}')"
    return (
        call(f"torch.sparse.mm(..., '{amax}')", partial(_segments_by_product, reduce=amax)),
        call(f"repeat_interleave, {indexed}", partial(_segments_by_index, reduce=amax)),
        call(f"embedding_bag(mode='{reduce}')", partial(_segments_by_bag, mode=reduce)),
    )


FAMILIES = (
    Family(
        ("spmm_sum", "gather_scatter_sum", "spmm_sum_edge_index", "update_all_copy_u_sum"),
        _features,
        _neighbour_ways(
            "sum",
            Call("CSR @ x", lambda matrix, x: matrix @ x),
            Call("COO @ x", lambda matrix, x: matrix @ x, build=_coo),
        ),
    ),
    Family(("spmm_mean", "update_all_copy_u_mean"), _features, _neighbour_ways("mean")),
    Family(
        ("spmm_max", "update_all_copy_u_max"),
        _features,
        _neighbour_ways(
            "max",
            Call(
                "index_select, index_reduce_(..., 'amax')",
                partial(_gathered_index_reduce, reduce="amax"),
                build="edges",
            ),
        ),
    ),
    Family(
        ("scatter_sum",),
        _messages,
        _scatter_ways(
            "sum", _on_index("scatter_reduce_(..., 'sum')", partial(_scatter_reduce, reduce="sum"))
        ),
    ),
    Family(
        ("scatter_mean",),
        _messages,
        _scatter_ways(
            "mean",
            _on_index("index_add_, bincount", _index_add_mean),
            _on_index("index_reduce_(..., 'mean')", partial(_index_reduce, reduce="mean")),
        ),
    ),
    Family(
        ("scatter_max",),
        _messages,
        _scatter_ways("max", _on_index("index_reduce_(..., 'amax')", partial(_index_reduce, reduce="amax"))),
    ),
    Family(("segment_sum",), _messages, _segment_ways("sum")),
    Family(("segment_mean",), _messages, _segment_ways("mean")),
    Family(("segment_max",), _messages, _segment_ways("max")),
    Family(
        ("edge_softmax", "edge_softmax_ptr"),
        _scores,
        (
            _on_numbered(
                "maxima by scatter_reduce_, sums by index_add_", partial(_softmax, maxima=_scatter_reduce)
            ),
            _on_numbered(
                "maxima by index_reduce_, sums by index_add_", partial(_softmax, maxima=_index_reduce)
            ),
            Call("segment_reduce, repeat_interleave", _softmax_of_segments, build=offsets),
        ),
        excluded=("edge_softmax on torch",),
    ),
    Family(("degree",), _nothing, (_on_index("index_add_ of ones", _count),), has_features=False),
    Family(
        ("coalesce",),
        _weights,
        (
            _on_duplicates("unique of keys, index_add_", _distinct),
            _on_duplicates("sort of keys, unique_consecutive, index_add_", _sorted_distinct),
        ),
        has_features=False,
    ),
    Family(
        ("to_csr",),
        _weights,
        (
            _on_shuffled("sort of keys", _csr_by_keys),
            _on_shuffled("sort by target, then by source", _csr_by_two_sorts),
        ),
        excluded=("to_csr on dgl",),  # DGL does not sort the columns of a row
        has_features=False,
    ),
)


def family_of(operation: str) -> Family | None:
    """Return the family of an operation. Returns None if the operation has only one way."""
    return next((family for family in FAMILIES if operation in family.operations), None)
