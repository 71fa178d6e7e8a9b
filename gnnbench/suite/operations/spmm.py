"""Sums, means and maxima over neighbours: sparse products, gather and scatter, and DGL's `update_all`.

Also the dot product of both ends' features for each edge: a sampled dense-dense matrix product.
"""

from functools import partial
from typing import Any

from ..annotations import Case, Edges, Graph, Tensor
from ..libraries import (
    definitions,
    dgl,
    inputs,
    on_dgl,
    torch,
    torch_geometric,
    torch_scatter,
    torch_sparse,
    utils,
)
from ..limits import (
    CSR_PRODUCT,
    DGL_HALF,
    GRADIENT_ROUNDING,
    HALF,
    MAX_GRADIENT,
    NO_PRODUCT,
    SCATTER_ADD,
    Limit,
    avoids,
    refuses,
)
from ..operation import Call, Kernel, operation

_ON_CPU = (refuses("torch.sparse.mm reduces by mean and amax on the CPU only", "cuda"),)
_MAXIMA = (MAX_GRADIENT,)
_BOTH = (*_ON_CPU, *_MAXIMA)
_ONES = tuple(
    refuses("EdgeIndex.matmul without values supports float32 only", dtype) for dtype in (HALF, "float64")
)

_SAMPLED = refuses("sampled_addmm does not support half precision", HALF)
_DOT = avoids(
    "DGL adds up the products in bfloat16, which is too inexact from some hundred features on", "bfloat16"
)


def _edge_index(case: Case) -> Any:
    size = (case.graph.num_nodes, case.graph.num_nodes)
    edges = torch_geometric.EdgeIndex(
        case.edge_index(), sparse_size=size, sort_order="col", is_undirected=True
    )
    return edges.fill_cache_()


def _pyg_gather(graph: Edges, x: Tensor) -> Tensor:
    return utils.scatter(x[graph.edge_index[0]], graph.edge_index[1], 0, graph.num_nodes, "sum")


def _sparse_gather(graph: Edges, x: Tensor) -> Tensor:
    source, target = graph.edge_index
    return torch_scatter.scatter(x[source], target, 0, dim_size=graph.num_nodes, reduce="sum")


def _torch_gather(edge_index: Tensor, x: Tensor) -> Tensor:
    return torch.zeros_like(x).index_add(0, edge_index[1], x.index_select(0, edge_index[0]))


def update_all(message: str, reduce: str, *limits: Limit, build: Any = None) -> Call:
    """Return DGL's call. Its inputs are x [N, F] for copy_u, [E, F] for copy_e, x and [E] for u_mul_e."""

    def make() -> Kernel:
        fields = {"copy_u": ("x",), "copy_e": ("w",), "u_mul_e": ("x", "w")}[message]
        send, add = getattr(dgl.function, message)(*fields, "message"), getattr(dgl.function, reduce)

        def run(graph: Any, *values: Tensor) -> Tensor:
            with graph.local_scope():
                if "x" in fields:
                    graph.ndata["x"] = values[0]
                if "w" in fields:
                    graph.edata["w"] = values[-1]
                graph.update_all(send, add("message", "out"))
                return graph.ndata["out"]

        return Kernel(build or on_dgl.structure, run)

    return Call(f"update_all({message}, {reduce})", limits=(*limits, DGL_HALF), make=make)


def aggregate_neighbours(graph: Graph, x: Tensor, reduce: Any) -> Tensor:
    """Return the sums, means or maxima over neighbours: [N, F]."""
    return definitions.aggregate(graph.edge_index, None, x, reduce)


def weighted_sums(graph: Graph, x: Tensor, weight: Tensor) -> Tensor:
    """Return the sums over neighbours of features times edge weights: [N, F]."""
    return definitions.aggregate(graph.edge_index, weight, x)


def both_features(case: Case) -> tuple[Tensor, Tensor]:
    """Return different features of sources and of targets, each [N, F]."""
    x, y = inputs.pattern(case.graph.num_nodes, 2 * case.spec.hidden).split(case.spec.hidden, dim=1)
    return case.tensor(x), case.tensor(y)


def _dot_pyg(edge_index: Tensor, x: Tensor, y: Tensor) -> Tensor:
    source, target = edge_index
    return (x[source] * y[target]).sum(dim=-1)


def dots(graph: Graph, x: Tensor, y: Tensor) -> Tensor:
    """Return the dot product of x at the source and y at the target: [E]."""
    source, target = graph.edge_index
    return torch.einsum("ef,ef->e", x[source], y[target])


sums = partial(aggregate_neighbours, reduce="sum")

_operation = partial(operation, group="aggregation")
_sum = partial(_operation, reference=sums, linear=True)
_mean = partial(_operation, reference=partial(aggregate_neighbours, reduce="mean"), linear=True)
_max = partial(_operation, reference=partial(aggregate_neighbours, reduce="amax"), reach=1)

OPERATIONS = (
    _sum(
        "spmm_sum",
        pyg=Call("utils.spmm on CSR", lambda csr, x: utils.spmm(csr, x, "sum"), (CSR_PRODUCT,)),
        sparse=Call("torch_sparse.matmul", lambda csr, x: torch_sparse.matmul(csr, x, "sum")),
        torch=Call("torch.sparse.mm(..., 'sum'); CUDA: CSR @ x", "product"),
        dgl=Call("dgl.ops.copy_u_sum", "dgl.ops.copy_u_sum", (DGL_HALF,)),
        core=True,
    ),
    _mean(
        "spmm_mean",
        pyg=Call("utils.spmm on CSR", lambda csr, x: utils.spmm(csr, x, "mean")),
        sparse=Call("torch_sparse.matmul", lambda csr, x: torch_sparse.matmul(csr, x, "mean")),
        torch=Call("torch.sparse.mm(..., 'mean')", lambda csr, x: torch.sparse.mm(csr, x, "mean"), _ON_CPU),
        dgl=Call("dgl.ops.copy_u_mean", "dgl.ops.copy_u_mean", (DGL_HALF,)),
    ),
    _max(
        "spmm_max",
        pyg=Call("utils.spmm on CSR", lambda csr, x: utils.spmm(csr, x, "max"), _BOTH),
        sparse=Call("torch_sparse.matmul", lambda csr, x: torch_sparse.matmul(csr, x, "max"), _MAXIMA),
        torch=Call("torch.sparse.mm(..., 'amax')", lambda csr, x: torch.sparse.mm(csr, x, "amax"), _BOTH),
        dgl="dgl.ops.copy_u_max returns -inf for nodes without neighbours; see update_all_copy_u_max",
    ),
    _sum(
        "spmm_sum_edge_index",
        pyg=Call(
            "EdgeIndex.matmul",
            lambda edge_index, x: edge_index.matmul(x, transpose=True),
            _ONES,
            build=_edge_index,
        ),
    ),
    _sum(
        "gather_scatter_sum",
        pyg=Call("x[source], utils.scatter", _pyg_gather, (SCATTER_ADD,), "numbered_edges"),
        sparse=Call("x[source], torch_scatter", _sparse_gather, build="numbered_edges"),
        torch=Call("index_select, index_add", _torch_gather, build="edges"),
        dgl="DGL fuses gather and scatter; see update_all_copy_u_sum",
        core=True,
    ),
    _sum("update_all_copy_u_sum", dgl=update_all("copy_u", "sum"), core=True),
    _mean("update_all_copy_u_mean", dgl=update_all("copy_u", "mean")),
    _max("update_all_copy_u_max", dgl=update_all("copy_u", "max", MAX_GRADIENT)),
    _operation(
        "update_all_u_mul_e_sum",
        dgl=update_all("u_mul_e", "sum"),
        reference=weighted_sums,
        reach=1,
    ),
    operation(
        "sddmm",
        pyg=Call("(x[source] * y[target]).sum(-1)", _dot_pyg, (GRADIENT_ROUNDING, NO_PRODUCT), "edges"),
        torch=Call(
            "torch.sparse.sampled_addmm",
            lambda adjacency, x, y: torch.sparse.sampled_addmm(adjacency, y, x.t(), beta=0).values(),
            (_SAMPLED, NO_PRODUCT),
        ),
        dgl=Call(
            "dgl.ops.u_dot_v",
            lambda graph, x, y: dgl.ops.u_dot_v(graph, x, y).squeeze(-1),
            (_DOT, DGL_HALF, NO_PRODUCT),
        ),
        reference=dots,
        reach=1,
        group="attention",
    ),
)
