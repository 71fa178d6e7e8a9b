"""Adding a self-loop of weight 1 to each node of a weighted graph."""

from ..annotations import Graph, Tensor
from ..least_work import Symbols, Work
from ..libraries import definitions, on_sparse, torch_sparse, utils
from ..limits import SPARSE_TENSOR
from ..operation import Call, Operation


def reference(graph: Graph, weight: Tensor) -> Tensor:
    """Return the weighted graph with self-loops of weight 1: COO [target, source]."""
    return definitions.matrix(graph, *definitions.looped(graph, weight))


def least_work(m: Symbols) -> Work:
    """Bytes G(E) + G(L) + s (E + L): weights in and out; backward s 2 E, without loops. Flops 0."""
    return Work(m.G(m.E) + m.G(m.L) + m.s * (m.E + m.L + (m.p - 1) * 2 * m.E), 0)


OPERATIONS = (
    Operation(
        "add_remaining_self_loops",
        {
            "pyg": Call(
                "add_remaining_self_loops",
                lambda graph, weight: utils.add_remaining_self_loops(
                    graph.edge_index, weight, 1.0, graph.num_nodes
                ),
                build="numbered_edges",
            ),
            "sparse": Call(
                "torch_sparse.fill_diag",
                lambda adjacency, weight: torch_sparse.fill_diag(on_sparse.weighted(adjacency, weight), 1.0),
                (SPARSE_TENSOR,),
            ),
            "dgl": Call("dgl.add_self_loop", "add_self_loops"),
        },
        {"torch": "plain PyTorch has no operation that adds self-loops to a CSR matrix"},
        core=True,
        reference=reference,
        least_work=least_work,
        group="normalisation",
        formerly=("add_self_loops",),
    ),
)
