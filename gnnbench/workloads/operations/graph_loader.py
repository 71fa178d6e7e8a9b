"""Loaders that join batches of small graphs, with workers and without.

An epoch of training on molecules is as long as its loader takes, if workers do not keep up.
"""

from typing import Any

from ..annotations import Case, Graph, Tensor
from ..libraries import dgl, pyg_loader, torch
from ..loading import Loading
from ..operation import Call, Operation
from ..spec import FORWARD
from .batch import MOLECULES, dgl_molecules, pyg_molecules
from .neighbors import ON_CPU

BATCHES = 8
"""Batches that a call takes."""
SIZE = 128
"""Graphs of a batch."""
REPEATS = 1000
"""How often a loader has the same graphs: so that it does not end while it is timed."""


def size(graph: Graph) -> int:
    """Return the graphs of a batch: SIZE, fewer where there are too few for BATCHES of them."""
    assert graph.sizes is not None
    return min(SIZE, len(graph.sizes) // BATCHES)


def loading(case: Case) -> Loading:
    """Return the loader of a case's operation and platform."""
    workers = int(case.spec.operation.split("_")[-2])
    count = BATCHES * size(case.graph)
    if case.spec.platform == "pyg":
        make, graphs = pyg_loader.DataLoader, pyg_molecules(case, count)
    else:
        make, graphs = dgl.dataloading.GraphDataLoader, dgl_molecules(case, count)
    return Loading(make(graphs * REPEATS, batch_size=size(case.graph), num_workers=workers))


def take(loading: Loading) -> list[Any]:
    """Take BATCHES batches of a loader that runs: each call takes the same graphs."""
    return loading.take(BATCHES)


def result(batches: list[Any], _loading: Loading) -> tuple[Tensor, ...]:
    """Return what `reference` does, of the batches of either platform."""
    found, first = [], 0
    for batch in batches:
        if hasattr(batch, "ptr"):
            edges, numbers, x = batch.edge_index, batch.ptr.diff(), batch.x
        else:
            edges, numbers = torch.stack(batch.edges()), batch.batch_num_nodes()
            x = batch.ndata["x"]
        found.append((edges + first, numbers, x))
        first += len(x)
    edges, numbers, x = zip(*found, strict=True)
    return torch.cat(edges, dim=1), torch.cat(numbers), torch.cat(x)


def reference(graph: Graph) -> tuple[Tensor, Tensor, Tensor]:
    """Return edges [2, e], sizes of the graphs [BATCHES * size] and features [n, D] of all batches."""
    assert graph.sizes is not None
    sizes = graph.sizes[: BATCHES * size(graph)]
    nodes = int(sizes.sum())
    return graph.edge_index[:, graph.edge_index[1] < nodes], sizes, graph.x[:nodes].double()


OPERATIONS = tuple(
    Operation(
        f"graph_loader_{workers}_workers",
        {
            "pyg": Call(f"DataLoader, {workers} workers", limits=(ON_CPU,)),
            "dgl": Call(f"dgl.dataloading.GraphDataLoader, {workers} workers", limits=(ON_CPU,)),
        },
        {
            "sparse": "DataLoader takes edge_index and SparseTensor alike: see pyg",
            "torch": "plain PyTorch has no batches of graphs",
        },
        directions=(FORWARD,),
        reference=reference,
        batched=True,
        graphs=MOLECULES,
        group="batches",
        batches=BATCHES,
    )
    for workers in (0, 2)
)
