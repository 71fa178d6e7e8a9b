"""The number of each node's entries, counted from an index that is not sorted or read off a row pointer."""

from typing import Any

from ..annotations import Case, Graph, Tensor
from ..libraries import on_sparse, torch, torch_sparse, utils
from ..limits import HALF, avoids
from ..operation import FORWARD, Call, Formula, operation
from .scatter import unsorted_index

_ROUNDING = avoids("bfloat16 cannot represent each degree above 256, float16 above 2,048", HALF)


def _sparse_structure(case: Case) -> Any:
    # Without values, the SparseTensor would count once and keep the result.
    return on_sparse.weighted(on_sparse.structure(case), case.edge_weight().detach().fill_(1))


def reference(graph: Graph) -> Tensor:
    """Return the number of entries of each node, which is the same at both ends: int64 [N]."""
    return graph.edge_index[0].bincount(minlength=graph.num_nodes)


OPERATIONS = (
    operation(
        "degree",
        pyg=Call(
            "utils.degree",
            lambda arguments: utils.degree(*arguments),
            (_ROUNDING,),
            lambda case: (*unsorted_index(case), case.dtype),
        ),
        sparse=Call(
            "torch_sparse.sum of ones",
            lambda adjacency: torch_sparse.sum(adjacency, dim=1),
            (_ROUNDING,),
            _sparse_structure,
        ),
        torch=Call(
            "torch.bincount",
            lambda to: torch.bincount(to.indices, minlength=to.num_nodes),
            build=unsorted_index,
        ),
        dgl=Call("in_degrees", lambda graph: graph.in_degrees()),
        directions=(FORWARD,),
        reference=reference,
        least_work=Formula("i min(N + 1, E) + min(s, i) N", "N"),  # a row pointer or an index; results
        group="scatter",
    ),
)
