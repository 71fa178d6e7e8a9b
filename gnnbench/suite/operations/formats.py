"""Conversions of a weighted matrix: a shuffled edge list to CSR and CSC; CSR to COO and transposed.

Forward only: the gradient of torch.sparse_csr_tensor makes a dense matrix [N, N], and DGL converts edge
indices, not weights.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..annotations import Case, Edges, Graph, Tensor
from ..libraries import on_sparse, torch, torch_sparse, utils
from ..limits import KEY_OVERFLOW
from ..operation import FORWARD, Call, Operation, operation
from .edge_list import dgl_graph, keys, listed, shuffled, unchanged

Compressed = tuple[Tensor, Tensor, Tensor]
"""Pointers [N + 1]; each entry's column in CSR or row in CSC, ascending [E]; weights [E]."""


def _parts(matrix: Tensor, *_inputs: Any) -> Compressed:
    if matrix.layout == torch.sparse_csr:
        return matrix.crow_indices(), matrix.col_indices(), matrix.values()
    return matrix.ccol_indices(), matrix.row_indices(), matrix.values()


def _pyg(edges: Edges, weight: Tensor, name: str) -> Tensor:
    return getattr(utils, name)(edges.edge_index, weight, edges.num_nodes)


def _sparse(edges: Edges, weight: Tensor, form: str) -> Compressed:
    matrix = torch_sparse.SparseTensor.from_edge_index(edges.edge_index, weight, edges.size)
    return matrix.csr() if form == "csr" else matrix.csc()


def _torch(edges: Edges, weight: Tensor, form: str) -> Tensor:
    matrix = torch.sparse_coo_tensor(edges.edge_index, weight, edges.size)
    return matrix.to_sparse_csr() if form == "csr" else matrix.to_sparse_csc()


def _dgl(graph: Any, _weight: Tensor, form: str) -> Any:
    return graph.formats(form)


def _dgl_parts(form: str, output: Any, _graph: Any, weight: Tensor) -> Compressed:
    """Return the arrays of a DGL format with weights instead of edge indices, and with sorted columns."""
    pointer, other, number = output.adj_tensors(form)
    line = torch.arange(len(pointer) - 1, device=pointer.device).repeat_interleave(pointer.diff())
    order = keys(torch.stack((line, other)), len(pointer) - 1).argsort()
    return pointer, other[order], weight[number[order].long()]


def _dgl_csr(case: Case) -> Any:
    # In DGL, rows are sources. DGL cannot copy a graph that is in CSC only.
    return dgl_graph(lambda graph: graph.edge_index.flip(0), case).formats("csr")


def _weighted_csr(adjacency: Tensor, weight: Tensor) -> Tensor:
    arrays = adjacency.crow_indices(), adjacency.col_indices(), weight
    return torch.sparse_csr_tensor(*arrays, adjacency.shape, check_invariants=False)


def _coo_sparse(adjacency: Tensor, weight: Tensor) -> Compressed:
    pointer, column = adjacency.crow_indices(), adjacency.col_indices()
    matrix = torch_sparse.SparseTensor(
        rowptr=pointer, col=column, value=weight, sparse_sizes=tuple(adjacency.shape), is_sorted=True
    )
    return matrix.coo()


def to_coo(graph: Graph, weight: Tensor) -> Compressed:
    """Return targets (rows), sources (columns) and weights of the adjacency matrix, in order: [E] each."""
    source, target = graph.edge_index
    return target, source, weight


def compressed(entries: Callable[[Graph], Tensor], graph: Graph, weight: Tensor) -> Compressed:
    """Return the CSR matrix of `entries`, int64 [2, E]; the first end of an entry is its row."""
    ends = entries(graph)
    order = keys(ends, graph.num_nodes).argsort()
    pointer = torch.cat((torch.zeros(1), ends[0].bincount(minlength=graph.num_nodes).cumsum(0))).long()
    return pointer, ends[1, order], weight[order]


_operation = partial(operation, directions=(FORWARD,), group="structure")


def _conversion(form: str, entries: Callable[[Graph], Tensor]) -> Operation:
    call = partial(Call, build=partial(listed, shuffled))
    name = f"to_torch_{form}_tensor"
    return _operation(
        f"to_{form}",
        pyg=call(f"utils.{name}", partial(_pyg, name=name), (KEY_OVERFLOW,), result=_parts),
        sparse=call(f"SparseTensor(...).{form}", partial(_sparse, form=form), result=unchanged),
        torch=call(f"COO, to_sparse_{form}", partial(_torch, form=form), result=_parts),
        dgl=Call(
            f"graph.formats('{form}') of COO",
            partial(_dgl, form=form),
            build=partial(dgl_graph, shuffled),
            result=partial(_dgl_parts, form),
        ),
        reference=partial(compressed, entries),
    )


OPERATIONS = (
    _conversion("csr", shuffled),
    _conversion("csc", lambda graph: shuffled(graph).flip(0)),
    _operation(
        "to_coo",
        pyg=Call(
            "utils.to_edge_index of CSR",
            lambda adjacency, weight: utils.to_edge_index(_weighted_csr(adjacency, weight)),
            result=lambda output, *_: (*output[0], output[1]),
        ),
        sparse=Call("SparseTensor(...).coo", _coo_sparse, build="pyg.structure", result=unchanged),
        torch=Call(
            "CSR.to_sparse_coo()",
            lambda adjacency, weight: _weighted_csr(adjacency, weight).to_sparse_coo(),
            # In the library's order, not sorted.
            result=lambda output, *_: (*output._indices(), output._values()),  # noqa: SLF001
        ),
        dgl=Call(
            "graph.formats('coo') of CSR",
            partial(_dgl, form="coo"),
            build=_dgl_csr,
            result=lambda output, _, weight: (*output.adj_tensors("coo"), weight),
        ),
        reference=to_coo,
    ),
    _operation(
        "transpose",
        sparse=Call(
            "SparseTensor.t",
            lambda adjacency, weight: on_sparse.weighted(adjacency, weight).t(),
            result=lambda output, *_: output.csr(),
        ),
        torch=Call(
            "CSR.t().to_sparse_csr()",
            lambda adjacency, weight: _weighted_csr(adjacency, weight).t().to_sparse_csr(),
            result=_parts,
        ),
        dgl=Call(
            "graph.formats('csc') of CSR",
            partial(_dgl, form="csc"),
            build=_dgl_csr,
            result=partial(_dgl_parts, "csc"),
        ),
        pyg="PyG reverses edges by edge_index.flip(0), which copies the list: see to_csc",
        reference=partial(compressed, lambda graph: graph.edge_index),
    ),
)
