"""Rows of a table of node embeddings, one for each end of each edge, with a sparse gradient."""

from ..annotations import Graph, Tensor
from ..libraries import functional
from ..limits import refuses
from ..operation import FORWARD_BACKWARD, Call, operation

_HALF = refuses("PyTorch adds no sparse tensors in float16 on the CPU", "float16", "cpu")


def _torch(edge_index: Tensor, table: Tensor) -> Tensor:
    source, target = edge_index
    return functional.embedding(source, table, sparse=True) * functional.embedding(target, table, sparse=True)


def reference(graph: Graph, table: Tensor) -> Tensor:
    """Return the product of both ends' rows: [E, F]."""
    source, target = graph.edge_index
    return table[source] * table[target]


OPERATIONS = (
    operation(
        "embedding_sparse_gradient",
        torch=Call("functional.embedding(sparse=True), twice", _torch, (_HALF,), "edges"),
        pyg="its models take nn.Embedding(sparse=True): see torch",
        dgl="dgl.nn.NodeEmbedding works with several processes and its own optimisers",
        directions=(FORWARD_BACKWARD,),
        reference=reference,
        reach=1,
        group="layers",
        default=False,
    ),
)
