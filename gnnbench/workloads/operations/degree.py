"""The number of each node's entries, counted from an index that is not sorted or read off a row pointer."""

from typing import TYPE_CHECKING, Any

from ..least_work import Symbols, Work
from ..limits import SPARSE_TENSOR, Limit
from ..operation import Call, Kernel, Operation
from ..spec import FORWARD

if TYPE_CHECKING:
    from torch import Tensor

    from ..case import Case
    from ..graphs.graph import Graph

_ROUNDING = Limit("bfloat16 cannot represent each degree above 256", frozenset({"bfloat16"}), raises=False)


def _pyg() -> Kernel:
    from torch_geometric import utils

    from .scatter import unsorted_index

    return Kernel(
        lambda case: (*unsorted_index(case), case.dtype),
        lambda arguments: utils.degree(*arguments),
    )


def _sparse() -> Kernel:
    import torch_sparse

    from ..platforms.sparse import structure, weighted

    def build(case: "Case") -> Any:
        # Without values, the SparseTensor would count once and keep the result.
        return weighted(structure(case), case.edge_weight().detach().fill_(1))

    return Kernel(build, lambda adjacency: torch_sparse.sum(adjacency, dim=1))


def _torch() -> Kernel:
    import torch

    from .scatter import unsorted_index

    return Kernel(unsorted_index, lambda to: torch.bincount(to.indices, minlength=to.num_nodes))


def _dgl() -> Kernel:
    from ..platforms.dgl import structure

    return Kernel(structure, lambda graph: graph.in_degrees())


def reference(graph: "Graph") -> "Tensor":
    """Return the number of entries of each node, which is the same at both ends: int64 [N]."""
    return graph.edge_index[0].bincount(minlength=graph.num_nodes)


def least_work(m: Symbols) -> Work:
    """Bytes i min(N + 1, E) + min(s, i) N: a row pointer or an index; results. Flops N."""
    return Work(m.i * min(m.N + 1, m.E) + min(m.s, m.i) * m.N, m.N)


OPERATIONS = (
    Operation(
        "degree",
        {
            "pyg": Call("utils.degree", _pyg, (_ROUNDING,)),
            "sparse": Call("torch_sparse.sum of ones", _sparse, (SPARSE_TENSOR, _ROUNDING)),
            "torch": Call("torch.bincount", _torch),
            "dgl": Call("in_degrees", _dgl),
        },
        directions=(FORWARD,),
        reference=reference,
        least_work=least_work,
        group="scatter",
    ),
)
