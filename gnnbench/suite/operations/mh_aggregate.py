"""AGGNet's aggregate: sums over several hops, of one column or of two as in MH-Aug (Park et al., 2021).

agg(x; E) sums x over neighbours along the edges E. A state of MH-Aug keeps some edges E' and some nodes k.
One product per hop computes both agg(1; E') and agg(k; E). A platform that uses a single matrix makes it
block-diagonal; dropped edges have the value 0 in the first block. A node's own value is added, not stored as
a self-loop. All sums are of integers, so they are exact in float64 in any order.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from ..annotations import Case, Graph, Tensor
from ..libraries import definitions, dgl, on_dgl, torch
from ..limits import CSR_PRODUCT, DGL_HALF, OVERFLOW, avoids
from ..operation import FORWARD, FORWARD_BACKWARD, Call, Kernel, operation

HOPS = 2
DROPPED = (0.5, 0.25)
"""Fractions of edges and of nodes that the benchmark's state drops."""

Aggregate = Callable[[Tensor, Tensor], Tensor]
"""Takes the kept edges and nodes, bool [m] and [n]; returns agg(1; E') and agg(k; E), float64 [2, n]."""


class Edges(NamedTuple):
    """A graph: both directions of each edge [m], without self-loops, sorted by target."""

    source: Tensor
    target: Tensor
    num_nodes: int

    @property
    def num_edges(self) -> int:
        """m, the number of edges; both directions count."""
        return int(self.source.numel())


def index_dtype(edges: Edges) -> Any:
    """Return int32 if it can index two copies of a graph; products on the CPU would convert int64."""
    return torch.int32 if 2 * max(edges.num_edges, edges.num_nodes) < 2**31 else torch.int64


class Blocks(NamedTuple):
    """The block-diagonal CSR matrix of two copies of the graph, targets as rows, without its values.

    `all_edges`, ones [m], are the second block's values, and `all_nodes`, ones [n], the first block's input.
    """

    row_pointer: Tensor
    column: Tensor
    all_edges: Tensor
    all_nodes: Tensor

    def values(self, kept_edges: Tensor) -> Tensor:
        """Return the values of a state's matrix: float64 [2 m]."""
        return torch.cat((kept_edges.to(self.all_edges), self.all_edges))

    def inputs(self, kept_nodes: Tensor) -> Tensor:
        """Return the vector that is aggregated: float64 [2 n]."""
        return torch.cat((self.all_nodes, kept_nodes.to(self.all_nodes)))


def blocks(edges: Edges, dtype: Any) -> Blocks:
    """Make the block-diagonal matrix of a graph, without values; its indices have the `dtype`."""
    degree = torch.bincount(edges.target, minlength=edges.num_nodes)
    row_pointer = torch.cat((degree.new_zeros(1), degree.cumsum(0), degree.cumsum(0) + edges.num_edges))
    column = torch.cat((edges.source, edges.source + edges.num_nodes))
    ones = partial(torch.ones, dtype=torch.float64, device=edges.source.device)
    return Blocks(row_pointer.to(dtype), column.to(dtype), ones(edges.num_edges), ones(edges.num_nodes))


def by_csr(blocks: Blocks, kept_edges: Tensor, kept_nodes: Tensor) -> Tensor:
    """Multiply by PyTorch's CSR matrix: float64 [2, n]."""
    x = blocks.inputs(kept_nodes)
    size = (len(x), len(x))
    matrix = torch.sparse_csr_tensor(
        blocks.row_pointer, blocks.column, blocks.values(kept_edges), size, check_invariants=False
    )
    for _ in range(HOPS):
        x = torch.addmv(x, matrix, x)
    return x.view(2, -1)


def by_sparse_tensor(blocks: Blocks, kept_edges: Tensor, kept_nodes: Tensor) -> Tensor:
    """Multiply with torch_sparse's kernel on the CSR arrays: float64 [2, n]."""
    x, values = blocks.inputs(kept_nodes).unsqueeze(1), blocks.values(kept_edges)
    for _ in range(HOPS):
        x = x + torch.ops.torch_sparse.spmm_sum(
            None, blocks.row_pointer, blocks.column, values, None, None, x
        )
    return x.view(2, -1)


def by_scatter(edges: Edges, kept_edges: Tensor, kept_nodes: Tensor) -> Tensor:
    """Gather, weight and scatter both columns, as message passing on edge_index does: float64 [2, n]."""
    nodes, entries = kept_nodes.double(), kept_edges.double()
    x = torch.stack((torch.ones_like(nodes), nodes), dim=1)
    weight = torch.stack((entries, torch.ones_like(entries)), dim=1)
    for _ in range(HOPS):
        x = x.index_add(0, edges.target, x.index_select(0, edges.source) * weight)
    return x.t()


def by_message_passing(graph: Any, kept_edges: Tensor, kept_nodes: Tensor) -> Tensor:
    """Weight and sum both columns in one DGL kernel: float64 [2, n]."""
    from ..platforms.dgl import dgl

    nodes, entries = kept_nodes.double(), kept_edges.double()
    x = torch.stack((torch.ones_like(nodes), nodes), dim=1)
    weight = torch.stack((entries, torch.ones_like(entries)), dim=1)
    for _ in range(HOPS):
        x = x + dgl.ops.u_mul_e_sum(graph, x, weight)
    return x.t()


def _sparse_tensor(edges: Edges) -> Aggregate:
    import torch_sparse  # noqa: F401 - registers its kernels

    return partial(by_sparse_tensor, blocks(edges, torch.int64))


def _message_passing(edges: Edges) -> Aggregate:
    graph = on_dgl.dgl.graph((edges.source, edges.target), num_nodes=edges.num_nodes)
    return partial(by_message_passing, on_dgl.with_formats(graph))


AGGREGATES: Mapping[str, Callable[[Edges], Aggregate]] = {
    "pyg": partial(partial, by_scatter),
    "sparse": _sparse_tensor,
    "torch": lambda edges: partial(by_csr, blocks(edges, index_dtype(edges))),
    "dgl": _message_passing,
}
"""The function that makes a graph's aggregate, by platform."""


def kept(graph: Graph) -> tuple[Tensor, Tensor]:
    """Return the random edges and nodes that the benchmark's state keeps: bool [m] and [n]."""
    generator = torch.Generator().manual_seed(0)
    edges, nodes = (
        torch.randperm(count, generator=generator) < count - int(count * dropped)
        for count, dropped in zip((graph.num_edges, graph.num_nodes), DROPPED, strict=True)
    )
    return edges, nodes


def _build(case: Case) -> tuple[Any, Aggregate]:
    source, target = case.edge_index()
    make = AGGREGATES[case.spec.platform]
    return case.dtype, make(Edges(source, target, case.graph.num_nodes))


def _run(structure: tuple[Any, Aggregate], kept_edges: Tensor, kept_nodes: Tensor) -> Tensor:
    dtype, aggregate = structure
    return aggregate(kept_edges, kept_nodes).to(dtype)


def reference(graph: Graph) -> Tensor:
    """Return ones aggregated over the kept edges, and the kept nodes aggregated over all edges: [2, N]."""
    kept_edges, kept_nodes = kept(graph)
    columns = []
    for weight, x in (
        (kept_edges.double(), torch.ones(graph.num_nodes, 1, dtype=torch.float64)),
        (None, kept_nodes.double().unsqueeze(1)),
    ):
        once = definitions.aggregate(*definitions.with_self_loops(graph, weight), x)
        columns.append(definitions.aggregate(*definitions.with_self_loops(graph, weight), once))
    return torch.cat(columns, dim=1).t()


_CONVERTED = avoids("torch_sparse's kernel gets int64, as in the other cell", "int32")
_KERNEL = (_run, (OVERFLOW,), _build)


def _products(hops: int, adjacency: Tensor, x: Tensor) -> Tensor:
    for _ in range(hops):
        x = adjacency @ x
    return x


def _layers(hops: int) -> Kernel:
    layer = dgl.nn.GraphConv(1, 1, norm="none", weight=False, bias=False)

    def run(graph: Any, x: Tensor) -> Tensor:
        for _ in range(hops):
            x = layer(graph, x)
        return x

    return Kernel(on_dgl.layer_graph, run)


def hops_reference(hops: int, graph: Graph, x: Tensor) -> Tensor:
    """Return (A + I)^hops x: [N, 1]."""
    for _ in range(hops):
        x = definitions.aggregate(definitions.with_self_loops(graph)[0], None, x)
    return x


OPERATIONS = (
    *(
        operation(
            f"aggregate{name}",
            dgl=Call(f"AGGNet: {by_layers}", make=partial(_layers, hops), limits=(DGL_HALF,)),
            torch=Call(by_product, partial(_products, hops), (CSR_PRODUCT,), "looped_structure"),
            elsewhere="AGGNet is DGL code; the platform torch has the same sums",
            directions=(FORWARD, *(() if name else (FORWARD_BACKWARD,))),
            core=not name,
            default=hops in (2, 4),
            reference=partial(hops_reference, hops),
            group="aggregation",
        )
        for name, hops, by_layers, by_product in (
            ("", 2, "two GraphConv 1→1", "CSR @ (CSR @ x)"),
            ("_one_hop", 1, "GraphConv 1→1, once", "CSR @ x, once"),
            ("_three_hops", 3, "GraphConv 1→1, three times", "CSR @ x, three times"),
            ("_four_hops", 4, "GraphConv 1→1, four times", "CSR @ x, four times"),
        )
    ),
    operation(
        "mh_aggregate",
        pyg=Call("gather, weigh, scatter both columns", *_KERNEL),
        sparse=Call("torch_sparse's SpMM, block-diagonal", _run, (OVERFLOW, _CONVERTED), _build),
        torch=Call("CSR @ x, block-diagonal", *_KERNEL),
        dgl=Call("dgl.ops.u_mul_e_sum of both columns", *_KERNEL),
        directions=(FORWARD,),
        reference=reference,
        group="aggregation",
    ),
)
