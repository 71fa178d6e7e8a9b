"""The rank of each entry among those of its node, by value."""

from ..annotations import Graph, Tensor
from ..libraries import utils
from ..limits import HALF, avoids, refuses
from ..operation import FORWARD, Call, Formula, operation
from .scatter import unsorted_index

_INDEX = refuses("group_argsort takes int64 indices only", "int32")
_ROUNDING = avoids(
    "group_argsort adds 2 * index to values from 0 to 1 in their dtype; in half precision nodes mix", HALF
)


def reference(graph: Graph, values: Tensor) -> Tensor:
    """Return how many entries of the same source come first: int64 [E].

    These are those of smaller values, then of equal ones in order.
    """
    source = graph.edge_index[0]
    order = values.argsort(stable=True)
    order = order[source[order].argsort(stable=True)]
    degree = source.bincount(minlength=graph.num_nodes)
    rank = source.new_empty(len(source))
    rank[order] = source.new_ones(len(source)).cumsum(0) - 1
    return rank - (degree.cumsum(0) - degree)[source]


OPERATIONS = (
    operation(
        "group_argsort",
        pyg=Call(
            "utils.group_argsort",
            lambda to, values: utils.group_argsort(values, to.indices, num_groups=to.num_nodes, stable=True),
            (_INDEX, _ROUNDING),
            unsorted_index,
        ),
        torch="torch.sort has no groups; two stable sorts would do it",
        dgl="dgl.sort_csc_by_tag sorts by integer tags and returns a graph, not ranks",
        directions=(FORWARD,),
        reference=reference,
        # Index, values, ranks; the fewest comparisons if nothing is unsorted.
        least_work=Formula("(2 i + s) E", "E - R"),
        group="scatter",
    ),
)
