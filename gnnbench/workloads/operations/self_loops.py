"""Adding a self-loop of weight 1 to each node of a weighted graph."""

from typing import TYPE_CHECKING

from ..least_work import Symbols, Work
from ..limits import SPARSE_TENSOR
from ..operation import Call, Kernel, Operation

if TYPE_CHECKING:
    from torch import Tensor

    from ..graphs.graph import Graph


def _pyg() -> Kernel:
    from torch_geometric import utils

    from ..platforms.pyg import numbered_edges

    return Kernel(
        numbered_edges,
        lambda graph, weight: utils.add_remaining_self_loops(graph.edge_index, weight, 1.0, graph.num_nodes),
    )


def _sparse() -> Kernel:
    import torch_sparse

    from ..platforms.sparse import structure, weighted

    return Kernel(
        structure, lambda adjacency, weight: torch_sparse.fill_diag(weighted(adjacency, weight), 1.0)
    )


def _dgl() -> Kernel:
    from ..platforms.dgl import add_self_loops, structure

    return Kernel(structure, add_self_loops)


def reference(graph: "Graph", weight: "Tensor") -> "Tensor":
    """Return the weighted graph with self-loops of weight 1: COO [target, source]."""
    from ..reference import looped, matrix

    return matrix(graph, *looped(graph, weight))


def least_work(m: Symbols) -> Work:
    """Bytes G(E) + G(L) + s (E + L): weights in and out; backward s 2 E, without loops. Flops 0."""
    return Work(m.G(m.E) + m.G(m.L) + m.s * (m.E + m.L + (m.p - 1) * 2 * m.E), 0)


OPERATIONS = (
    Operation(
        "add_remaining_self_loops",
        {
            "pyg": Call("add_remaining_self_loops", _pyg),
            "sparse": Call("torch_sparse.fill_diag", _sparse, (SPARSE_TENSOR,)),
            "dgl": Call("dgl.add_self_loop", _dgl),
        },
        {"torch": "plain PyTorch has no operation that adds self-loops to a CSR matrix"},
        core=True,
        reference=reference,
        least_work=least_work,
        group="normalisation",
        formerly=("add_self_loops",),
    ),
)
