"""Conversions of a weighted matrix: a shuffled edge list to CSR and CSC, CSR to COO and to its transpose.

Forward only: the gradient of torch.sparse_csr_tensor makes a dense matrix [N, N], and DGL converts edge
numbers, not weights.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from ..least_work import Symbols, Work
from ..limits import KEY_OVERFLOW, SPARSE_TENSOR
from ..operation import Call, Kernel, Operation
from ..spec import FORWARD
from .edge_list import EdgeList, dgl_graph, keys, listed, shuffled, unchanged

if TYPE_CHECKING:
    from torch import Tensor

    from ..case import Case
    from ..graphs.graph import Graph

    Compressed = tuple[Tensor, Tensor, Tensor]
    """Pointers [N + 1]; the column of each entry in CSR, its row in CSC, ascending [E]; weights [E]."""


def _parts(matrix: "Tensor", *_inputs: Any) -> "Compressed":
    import torch

    if matrix.layout == torch.sparse_csr:
        return matrix.crow_indices(), matrix.col_indices(), matrix.values()
    return matrix.ccol_indices(), matrix.row_indices(), matrix.values()


def _pyg(name: str) -> Kernel:
    from torch_geometric import utils

    def run(edges: EdgeList, weight: "Tensor") -> "Tensor":
        matrix: Tensor = getattr(utils, name)(edges.edge_index, weight, edges.num_nodes)
        return matrix

    return Kernel(partial(listed, shuffled), run, _parts)


def _sparse(form: str) -> Kernel:
    import torch_sparse

    def run(edges: EdgeList, weight: "Tensor") -> "Compressed":
        matrix = torch_sparse.SparseTensor.from_edge_index(edges.edge_index, weight, edges.size)
        arrays: Compressed = matrix.csr() if form == "csr" else matrix.csc()
        return arrays

    return Kernel(partial(listed, shuffled), run, unchanged)


def _torch(form: str) -> Kernel:
    import torch

    def run(edges: EdgeList, weight: "Tensor") -> "Tensor":
        matrix = torch.sparse_coo_tensor(edges.edge_index, weight, edges.size)
        return matrix.to_sparse_csr() if form == "csr" else matrix.to_sparse_csc()

    return Kernel(partial(listed, shuffled), run, _parts)


def _dgl(form: str) -> Kernel:
    return Kernel(
        partial(dgl_graph, shuffled), lambda graph, _: graph.formats(form), partial(_dgl_parts, form)
    )


def _dgl_parts(form: str, output: Any, _graph: Any, weight: "Tensor") -> "Compressed":
    """Return a format with weights for edge numbers, and sorted: DGL leaves a row's columns as they come."""
    import torch

    pointer, other, number = output.adj_tensors(form)
    line = torch.arange(len(pointer) - 1, device=pointer.device).repeat_interleave(pointer.diff())
    order = keys(torch.stack((line, other)), len(pointer) - 1).argsort()
    return pointer, other[order], weight[number[order].long()]


def _transpose_sparse() -> Kernel:
    from ..platforms.sparse import structure, weighted

    return Kernel(
        structure,
        # `weighted` makes a new SparseTensor, so that the order which `t` caches in it is made in each call.
        lambda adjacency, weight: weighted(adjacency, weight).t(),
        lambda output, *_: output.csr(),
    )


def _transpose_torch() -> Kernel:
    from ..platforms.torch import structure

    return Kernel(
        structure, lambda adjacency, weight: _weighted_csr(adjacency, weight).t().to_sparse_csr(), _parts
    )


def _dgl_csr(case: "Case") -> Any:
    # DGL's rows are sources. It cannot copy a graph that is in CSC only.
    return dgl_graph(lambda graph: graph.edge_index.flip(0), case).formats("csr")


def _transpose_dgl() -> Kernel:
    return Kernel(_dgl_csr, lambda graph, _: graph.formats("csc"), partial(_dgl_parts, "csc"))


def _weighted_csr(adjacency: "Tensor", weight: "Tensor") -> "Tensor":
    import torch

    arrays = adjacency.crow_indices(), adjacency.col_indices(), weight
    return torch.sparse_csr_tensor(*arrays, adjacency.shape, check_invariants=False)


def _coo_pyg() -> Kernel:
    from torch_geometric import utils

    from ..platforms.pyg import structure

    return Kernel(
        structure,
        lambda adjacency, weight: utils.to_edge_index(_weighted_csr(adjacency, weight)),
        lambda output, *_: (*output[0], output[1]),
    )


def _coo_sparse() -> Kernel:
    import torch_sparse

    from ..platforms.torch import structure

    def run(adjacency: "Tensor", weight: "Tensor") -> "Compressed":
        pointer, column = adjacency.crow_indices(), adjacency.col_indices()
        matrix = torch_sparse.SparseTensor(
            rowptr=pointer, col=column, value=weight, sparse_sizes=tuple(adjacency.shape), is_sorted=True
        )
        arrays: Compressed = matrix.coo()
        return arrays

    return Kernel(structure, run, unchanged)


def _coo_torch() -> Kernel:
    from ..platforms.torch import structure

    return Kernel(
        structure,
        lambda adjacency, weight: _weighted_csr(adjacency, weight).to_sparse_coo(),
        lambda output, *_: (*output._indices(), output._values()),  # noqa: SLF001 - of a matrix not coalesced
    )


def _coo_dgl() -> Kernel:
    return Kernel(
        _dgl_csr,
        lambda graph, _: graph.formats("coo"),
        lambda output, _, weight: (*output.adj_tensors("coo"), weight),
    )


def to_coo(graph: "Graph", weight: "Tensor") -> "Compressed":
    """Return targets, sources and weights of the adjacency matrix, whose rows are targets, in order: [E]."""
    source, target = graph.edge_index
    return target, source, weight


def to_csr(graph: "Graph", weight: "Tensor") -> "Compressed":
    """Return the matrix of the shuffled list in CSR; rows are sources."""
    return _compressed(shuffled(graph), weight, graph.num_nodes)


def to_csc(graph: "Graph", weight: "Tensor") -> "Compressed":
    """Return the matrix of the shuffled list in CSC; rows are sources."""
    return _compressed(shuffled(graph).flip(0), weight, graph.num_nodes)


def transpose(graph: "Graph", weight: "Tensor") -> "Compressed":
    """Return the transpose of the adjacency matrix, whose rows are targets, in CSR."""
    return _compressed(graph.edge_index, weight, graph.num_nodes)


def _compressed(entries: "Tensor", weight: "Tensor", num_nodes: int) -> "Compressed":
    import torch

    line, other = entries
    order = keys(entries, num_nodes).argsort()
    pointer = torch.cat((torch.zeros(1), line.bincount(minlength=num_nodes).cumsum(0))).long()
    return pointer, other[order], weight[order]


def conversion_work(m: Symbols) -> Work:
    """Bytes 2 i E + G(E) + min(2 s, i) E: list in, matrix out, weights in and out or their order. Flops 0."""
    return Work(2 * m.i * m.E + m.G(m.E) + min(2 * m.s, m.i) * m.E, 0)


def to_coo_work(m: Symbols) -> Work:
    """Bytes G(E) + 2 i E + min(2 s, i) E: matrix in, both ends out, weights in and out or none. Flops 0."""
    return Work(m.G(m.E) + 2 * m.i * m.E + min(2 * m.s, m.i) * m.E, 0)


def transpose_work(m: Symbols) -> Work:
    """Bytes 2 G(E) + min(2 s, i) E: matrix in and out, weights in and out or their order. Flops 0."""
    return Work(2 * m.G(m.E) + min(2 * m.s, m.i) * m.E, 0)


def _conversion(form: str, reference: Any) -> Operation:
    return Operation(
        f"to_{form}",
        {
            "pyg": Call(
                f"utils.to_torch_{form}_tensor", partial(_pyg, f"to_torch_{form}_tensor"), (KEY_OVERFLOW,)
            ),
            "sparse": Call(f"SparseTensor(...).{form}", partial(_sparse, form), (SPARSE_TENSOR,)),
            "torch": Call(f"COO, to_sparse_{form}", partial(_torch, form)),
            "dgl": Call(f"graph.formats('{form}') of COO", partial(_dgl, form)),
        },
        directions=(FORWARD,),
        reference=reference,
        least_work=conversion_work,
        group="structure",
    )


OPERATIONS = (
    _conversion("csr", to_csr),
    _conversion("csc", to_csc),
    Operation(
        "to_coo",
        {
            "pyg": Call("utils.to_edge_index of CSR", _coo_pyg),
            "sparse": Call("SparseTensor(...).coo", _coo_sparse, (SPARSE_TENSOR,)),
            "torch": Call("CSR.to_sparse_coo()", _coo_torch),
            "dgl": Call("graph.formats('coo') of CSR", _coo_dgl),
        },
        directions=(FORWARD,),
        reference=to_coo,
        least_work=to_coo_work,
        group="structure",
    ),
    Operation(
        "transpose",
        {
            "sparse": Call("SparseTensor.t", _transpose_sparse, (SPARSE_TENSOR,)),
            "torch": Call("CSR.t().to_sparse_csr()", _transpose_torch),
            "dgl": Call("graph.formats('csc') of CSR", _transpose_dgl),
        },
        {"pyg": "PyG reverses edges by edge_index.flip(0), which copies the list: see to_csc"},
        directions=(FORWARD,),
        reference=transpose,
        least_work=transpose_work,
        group="structure",
    ),
)
