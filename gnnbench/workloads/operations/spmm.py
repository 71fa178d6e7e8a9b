"""Sums, means and maxima over neighbours by sparse matrix products; sums by gather and scatter."""

from functools import partial
from typing import TYPE_CHECKING, Any

from ..least_work import Symbols, Work
from ..limits import CSR_PRODUCT, MAX_GRADIENT, SCATTER_ADD, SPARSE_TENSOR, Limit
from ..operation import Call, Kernel, Operation

if TYPE_CHECKING:
    from torch import Tensor

    from ..case import Case
    from ..graphs.graph import Graph
    from ..platforms.pyg import Edges

_REDUCES_ON_CPU = Limit("torch.sparse.mm reduces by mean and amax on the CPU only", frozenset({"cuda"}))
_ONES = tuple(
    Limit("EdgeIndex.matmul without values supports float32 only", frozenset({dtype}))
    for dtype in ("bfloat16", "float64")
)


def _pyg(reduce: str) -> Kernel:
    from torch_geometric import utils

    from ..platforms.pyg import structure

    return Kernel(structure, lambda adjacency, x: utils.spmm(adjacency, x, reduce))


def _sparse(reduce: str) -> Kernel:
    import torch_sparse

    from ..platforms.sparse import structure

    return Kernel(structure, lambda adjacency, x: torch_sparse.matmul(adjacency, x, reduce))


def _torch_sum() -> Kernel:
    from ..platforms.torch import product, structure

    return Kernel(structure, product)


def _torch(reduce: str) -> Kernel:
    import torch

    from ..platforms.torch import structure

    return Kernel(structure, lambda adjacency, x: torch.sparse.mm(adjacency, x, reduce))


def _dgl(name: str) -> Kernel:
    from ..platforms.dgl import dgl, structure

    return Kernel(structure, getattr(dgl.ops, name))


def _edge_index() -> Kernel:
    from torch_geometric import EdgeIndex

    def build(case: "Case") -> Any:
        size = (case.graph.num_nodes, case.graph.num_nodes)
        edges = EdgeIndex(case.edge_index(), sparse_size=size, sort_order="col", is_undirected=True)
        return edges.fill_cache_()

    return Kernel(build, lambda edge_index, x: edge_index.matmul(x, transpose=True))


def _pyg_gather() -> Kernel:
    from torch_geometric import utils

    from ..platforms.pyg import numbered_edges

    return Kernel(
        numbered_edges,
        lambda graph, x: utils.scatter(
            x[graph.edge_index[0]], graph.edge_index[1], 0, graph.num_nodes, "sum"
        ),
    )


def _sparse_gather() -> Kernel:
    import torch_scatter

    from ..platforms.pyg import numbered_edges

    def run(graph: "Edges", x: "Tensor") -> "Tensor":
        source, target = graph.edge_index
        return torch_scatter.scatter(x[source], target, 0, dim_size=graph.num_nodes, reduce="sum")

    return Kernel(numbered_edges, run)


def _torch_gather() -> Kernel:
    import torch

    from ..platforms.torch import edges

    return Kernel(
        edges,
        lambda edge_index, x: torch.zeros_like(x).index_add(
            0, edge_index[1], x.index_select(0, edge_index[0])
        ),
    )


def sums(graph: "Graph", x: "Tensor") -> "Tensor":
    """Return the sums over neighbours: [N, F]."""
    from ..reference import aggregate

    return aggregate(graph.edge_index, None, x)


def means(graph: "Graph", x: "Tensor") -> "Tensor":
    """Return the means over neighbours: [N, F]."""
    from ..reference import aggregate

    return aggregate(graph.edge_index, None, x, "mean")


def maxima(graph: "Graph", x: "Tensor") -> "Tensor":
    """Return the maxima over neighbours: [N, F]."""
    from ..reference import aggregate

    return aggregate(graph.edge_index, None, x, "amax")


def sums_work(m: Symbols) -> Work:
    """Bytes G(E) + p s (R + N) F: x and sums, then the gradients of sums and x. Flops p E F."""
    return Work(m.G(m.E) + m.p * m.s * (m.R + m.N) * m.F, m.p * m.E * m.F)


def means_work(m: Symbols) -> Work:
    """Bytes as a sum. Flops p (E + R) F: each sum is divided."""
    return Work(sums_work(m).bytes, m.p * (m.E + m.R) * m.F)


def maxima_work(m: Symbols) -> Work:
    """Bytes as a sum. Flops E F comparisons; backward R F additions, one per maximum."""
    return Work(sums_work(m).bytes, (m.E + (m.p - 1) * m.R) * m.F)


def edge_list_work(m: Symbols) -> Work:
    """Bytes 2 i E + p s (R + N) F: as a sum, with an edge list as the graph. Flops p E F."""
    return Work(2 * m.i * m.E + m.p * m.s * (m.R + m.N) * m.F, m.p * m.E * m.F)


OPERATIONS = (
    Operation(
        "spmm_sum",
        {
            "pyg": Call("utils.spmm on CSR", partial(_pyg, "sum"), (CSR_PRODUCT,)),
            "sparse": Call("torch_sparse.matmul", partial(_sparse, "sum"), (SPARSE_TENSOR,)),
            "torch": Call("torch.sparse.mm(..., 'sum'); CUDA: CSR @ x", _torch_sum),
            "dgl": Call("dgl.ops.copy_u_sum", partial(_dgl, "copy_u_sum")),
        },
        core=True,
        reference=sums,
        linear=True,
        least_work=sums_work,
        group="aggregation",
    ),
    Operation(
        "spmm_mean",
        {
            "pyg": Call("utils.spmm on CSR", partial(_pyg, "mean")),
            "sparse": Call("torch_sparse.matmul", partial(_sparse, "mean"), (SPARSE_TENSOR,)),
            "torch": Call("torch.sparse.mm(..., 'mean')", partial(_torch, "mean"), (_REDUCES_ON_CPU,)),
            "dgl": Call("dgl.ops.copy_u_mean", partial(_dgl, "copy_u_mean")),
        },
        reference=means,
        linear=True,
        least_work=means_work,
        group="aggregation",
    ),
    Operation(
        "spmm_max",
        {
            "pyg": Call("utils.spmm on CSR", partial(_pyg, "max"), (_REDUCES_ON_CPU, MAX_GRADIENT)),
            "sparse": Call("torch_sparse.matmul", partial(_sparse, "max"), (SPARSE_TENSOR, MAX_GRADIENT)),
            "torch": Call(
                "torch.sparse.mm(..., 'amax')", partial(_torch, "amax"), (_REDUCES_ON_CPU, MAX_GRADIENT)
            ),
        },
        {"dgl": "dgl.ops.copy_u_max returns -inf for nodes without neighbours; see update_all_copy_u_max"},
        reference=maxima,
        reach=1,
        least_work=maxima_work,
        group="aggregation",
    ),
    Operation(
        "spmm_sum_edge_index",
        {"pyg": Call("EdgeIndex.matmul", _edge_index, _ONES)},
        dict.fromkeys(("sparse", "torch", "dgl"), "only PyG has EdgeIndex; see spmm_sum"),
        reference=sums,
        linear=True,
        least_work=sums_work,
        group="aggregation",
    ),
    Operation(
        "gather_scatter_sum",
        {
            "pyg": Call("x[source], utils.scatter", _pyg_gather, (SCATTER_ADD,)),
            "sparse": Call("x[source], torch_scatter", _sparse_gather, (SCATTER_ADD,)),
            "torch": Call("index_select, index_add", _torch_gather),
        },
        {"dgl": "DGL fuses gather and scatter; see update_all_copy_u_sum"},
        core=True,
        reference=sums,
        linear=True,
        least_work=edge_list_work,
        group="aggregation",
    ),
)
