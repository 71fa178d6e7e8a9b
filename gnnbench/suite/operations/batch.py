"""Many small graphs joined into one batch, as in each step of training on molecules."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ..annotations import Case, DGLGraph, Graph, Tensor
from ..libraries import dgl, pyg_data, torch, torch_sparse
from ..operation import FORWARD, Call, operation

SIZE = 256
"""Number of graphs in a batch: the first ones, or all if there are fewer."""
MOLECULES = ("molecules:10",)
"""The graph that operations on batches run on: 1,024 molecules."""
_BOND_TYPES = 4
"""Number of types of bonds in ZINC."""


class Molecule(NamedTuple):
    """One small graph: edges [2, e] with node indices from 0; features [n, D]; each edge's bond type [e]."""

    edge_index: Tensor
    x: Tensor
    bonds: Tensor


def all_sizes(graph: Graph) -> Tensor:
    """Return the number of nodes of each separate graph: int64 [M]."""
    assert graph.sizes is not None
    return graph.sizes


def sizes(graph: Graph) -> Tensor:
    """Return the number of nodes of each graph in a batch: int64 [B]."""
    return all_sizes(graph)[:SIZE]


def membership(graph: Graph) -> Tensor:
    """Return, for each node of a batch, the position of its graph in the batch: int64 [n]."""
    counts = sizes(graph)
    return torch.arange(len(counts)).repeat_interleave(counts)


def edges(graph: Graph) -> Tensor:
    """Return a batch's sources and targets: int64 [2, e]."""
    return graph.edge_index[:, graph.edge_index[1] < int(sizes(graph).sum())]


def bonds(edge_index: Tensor) -> Tensor:
    """Return a bond type from 0 to 3 for each edge, equal in both directions: int64 [e]."""
    return edge_index.sum(0) % _BOND_TYPES


def molecules(case: Case, count: int) -> Iterator[Molecule]:
    """Yield the first `count` graphs, each in memory of its own."""
    graph = case.graph
    last = all_sizes(graph)[:count].cumsum(0)
    # Entries are sorted by target.
    ends = torch.searchsorted(graph.edge_index[1].contiguous(), last).tolist()
    node = start = 0
    for stop, end in zip(last.tolist(), ends, strict=True):
        edge_index = graph.edge_index[:, start:end] - node
        yield Molecule(
            edge_index.to(case.device, case.index_dtype, copy=True),
            graph.x[node:stop].to(case.device, case.dtype, copy=True),
            bonds(edge_index).to(case.device, case.dtype),
        )
        node, start = stop, end


def pyg_molecules(case: Case, count: int) -> list[Any]:
    """Return the first `count` graphs as PyG's objects."""
    return [
        pyg_data.Data(x=molecule.x, edge_index=molecule.edge_index, edge_attr=molecule.bonds)
        for molecule in molecules(case, count)
    ]


def dgl_molecules(case: Case, count: int) -> list[DGLGraph]:
    """Return the first `count` graphs as DGL's objects."""
    graphs = []
    for molecule in molecules(case, count):
        graph = dgl.graph(tuple(molecule.edge_index), num_nodes=len(molecule.x))
        graph.ndata["x"], graph.edata["w"] = molecule.x, molecule.bonds
        graphs.append(graph)
    return graphs


def _with_matrix(matrix: Callable[[Molecule], Any], case: Case) -> list[Any]:
    """Return PyG's graphs with a matrix instead of edges; the rows of the matrix are targets."""
    return [pyg_data.Data(x=molecule.x, adj_t=matrix(molecule)) for molecule in molecules(case, SIZE)]


def _join(graphs: list[Any]) -> Any:
    return pyg_data.Batch.from_data_list(graphs)


def tensors_of(batch: Any, *_graphs: Any) -> tuple[Tensor, ...]:
    """Return the tensors of a batch of PyG or DGL, in the form of `reference`."""
    if not hasattr(batch, "ptr"):
        sizes = batch.batch_num_nodes()
        member = torch.arange(len(sizes)).to(sizes).repeat_interleave(sizes)
        return torch.stack(batch.edges()), batch.edata["w"], sizes, member, batch.ndata["x"]
    if "adj_t" in batch:
        matrix = batch.adj_t
        is_csr = isinstance(matrix, torch.Tensor)
        matrix = (matrix.to_sparse_coo() if is_csr else matrix.to_torch_sparse_coo_tensor()).coalesce()
        entries = matrix.indices().flip(0), matrix.values()
    else:
        entries = batch.edge_index, batch.edge_attr
    return *entries, batch.ptr.diff(), batch.batch, batch.x


def _sparse_matrix(molecule: Molecule) -> Any:
    source, target = molecule.edge_index
    size = (len(molecule.x), len(molecule.x))
    return torch_sparse.SparseTensor(
        row=target, col=source, value=molecule.bonds, sparse_sizes=size, is_sorted=True
    )


def _csr(molecule: Molecule) -> Tensor:
    source, target = molecule.edge_index
    pointer = torch.zeros(len(molecule.x) + 1).to(target)
    pointer[1:] = target.bincount(minlength=len(molecule.x)).cumsum(0)
    size = (len(molecule.x), len(molecule.x))
    return torch.sparse_csr_tensor(pointer, source, molecule.bonds, size=size, check_invariants=False)


def reference(graph: Graph) -> tuple[Tensor, ...]:
    """Return edges [2, e], their bond types [e], sizes [B], each node's graph [n] and features [n, D]."""
    edge_index, member, counts = edges(graph), membership(graph), sizes(graph)
    first = counts.cumsum(0) - counts
    numbers = bonds(edge_index - first[member][edge_index]).double()
    return edge_index, numbers, counts, member, graph.x[: len(member)].double()


_batch_call = partial(Call, run=_join, result=tensors_of)
_operation = partial(operation, batched=True, directions=(FORWARD,), graphs=MOLECULES, group="batches")

OPERATIONS = (
    _operation(
        "batch",
        pyg=_batch_call("Batch.from_data_list", build=lambda case: pyg_molecules(case, SIZE)),
        sparse=_batch_call(
            "Batch.from_data_list with SparseTensor as adj_t", build=partial(_with_matrix, _sparse_matrix)
        ),
        dgl=Call("dgl.batch", "dgl.batch", build=lambda case: dgl_molecules(case, SIZE), result=tensors_of),
        example=True,
        reference=reference,
    ),
    _operation(
        "batch_csr",
        pyg=_batch_call("Batch.from_data_list with CSR tensors as adj_t", build=partial(_with_matrix, _csr)),
        reference=reference,
        default=False,
    ),
)
