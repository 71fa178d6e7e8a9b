"""Loaders that join batches of small graphs, from memory or from disk, with workers and without.

If the loader does not keep up, it determines how long an epoch of training on molecules takes.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..annotations import Case, Graph, Tensor
from ..libraries import dgl, pyg_data, pyg_loader, torch
from ..limits import refuses
from ..loading import Loading
from ..operation import FORWARD, Call, operation
from .batch import MOLECULES, all_sizes, dgl_molecules, pyg_molecules, tensors_of
from .neighbor_loader import BATCHES, REPEATS, workers
from .neighbors import ON_CPU

SIZE = 128
"""Number of graphs in a batch."""

_STORED = refuses("SQLiteDatabase stores NumPy's arrays, which have no bfloat16", "bfloat16")


def size(graph: Graph) -> int:
    """Return the number of graphs in a batch: SIZE, or fewer if there are too few for BATCHES batches."""
    return min(SIZE, len(all_sizes(graph)) // BATCHES)


def loading(case: Case) -> Loading:
    """Return the loader of a case's operation and platform."""
    count = BATCHES * size(case.graph)
    if case.spec.platform == "pyg":
        make, graphs = pyg_loader.DataLoader, pyg_molecules(case, count)
    else:
        make, graphs = dgl.dataloading.GraphDataLoader, dgl_molecules(case, count)
    return Loading(make(graphs * REPEATS, batch_size=size(case.graph), num_workers=workers(case)))


@contextmanager
def loading_from_disk(case: Case) -> Iterator[Loading]:
    """Write the graphs to a file and yield the loader that reads them; the file is removed at the end."""
    graphs = pyg_molecules(case, BATCHES * size(case.graph))
    with tempfile.TemporaryDirectory(prefix="gnnbench-") as folder:
        writer, reader = (_dataset(case, folder) for _ in range(2))
        writer.extend(graphs)
        writer.close()
        loader = pyg_loader.DataLoader(
            reader,  # each process that reads opens its own connection
            batch_size=size(case.graph),
            sampler=list(range(len(graphs))) * REPEATS,
            num_workers=workers(case),
        )
        try:
            with Loading(loader) as loading:
                yield loading
        finally:
            reader.close()


def _dataset(case: Case, folder: str) -> Any:
    """Return the data set in a folder: an SQLite table with a row per graph and a column per tensor."""

    class Molecules(pyg_data.OnDiskDataset):  # type: ignore[misc]
        def serialize(self, data: Any) -> dict[str, Any]:
            columns: dict[str, Any] = data.to_dict()
            return columns

        def deserialize(self, data: dict[str, Any]) -> Any:
            return pyg_data.Data.from_dict(data)

    schema = {
        "x": {"dtype": case.dtype, "size": (-1, case.graph.num_features)},
        "edge_index": {"dtype": case.index_dtype, "size": (2, -1)},
        "edge_attr": {"dtype": case.dtype, "size": (-1,)},
    }
    return Molecules(folder, schema=schema, log=False)


def take(loading: Loading) -> list[Any]:
    """Take BATCHES batches of a running loader: each call takes the same graphs."""
    return loading.take(BATCHES)


def result(batches: list[Any], _loading: Loading) -> tuple[Tensor, ...]:
    """Return the tensors of the batches of either platform, in the form of `reference`."""
    parts, first = [], 0
    for batch in batches:
        edges, _, numbers, _, x = tensors_of(batch)
        parts.append((edges + first, numbers, x))
        first += len(x)
    lists, sizes, features = zip(*parts, strict=True)
    return torch.cat(lists, dim=1), torch.cat(sizes), torch.cat(features)


def reference(graph: Graph) -> tuple[Tensor, Tensor, Tensor]:
    """Return edges [2, e], sizes of the graphs [BATCHES * size] and features [n, D] of all batches."""
    sizes = all_sizes(graph)[: BATCHES * size(graph)]
    nodes = int(sizes.sum())
    return graph.edge_index[:, graph.edge_index[1] < nodes], sizes, graph.x[:nodes].double()


_operation = partial(
    operation,
    directions=(FORWARD,),
    reference=reference,
    reads_all=False,
    batched=True,
    graphs=MOLECULES,
    group="batches",
)

OPERATIONS = (
    *(
        _operation(
            f"disk_loader_{count}_workers",
            pyg=Call(f"DataLoader of OnDiskDataset (SQLite), {count} workers", limits=(ON_CPU, _STORED)),
            dgl="DGL's data set on disk is GraphBolt's, which has no build for this PyTorch",
            default=False,
        )
        for count in (0, 2)
    ),
    *(
        _operation(
            f"graph_loader_{count}_workers",
            pyg=Call(f"DataLoader, {count} workers", limits=(ON_CPU,)),
            dgl=Call(f"dgl.dataloading.GraphDataLoader, {count} workers", limits=(ON_CPU,)),
            sparse="DataLoader takes edge_index and SparseTensor alike: see pyg",
        )
        for count in (0, 2)
    ),
)
