"""Loaders that read batches of small graphs from a data set on disk, with workers and without."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..annotations import Case
from ..libraries import pyg_data, pyg_loader
from ..limits import Limit
from ..loading import Loading
from ..operation import Call, Operation
from ..spec import FORWARD
from .batch import MOLECULES, pyg_molecules
from .graph_loader import BATCHES, REPEATS, reference, size
from .neighbors import ON_CPU

_STORED = Limit("SQLiteDatabase stores NumPy's arrays, which have no bfloat16", frozenset({"bfloat16"}))


@contextmanager
def loading(case: Case) -> Iterator[Loading]:
    """Write the graphs to a file, and give the loader that reads them; the file goes at the end."""
    graphs = pyg_molecules(case, BATCHES * size(case.graph))
    with tempfile.TemporaryDirectory(prefix="gnnbench-") as folder:
        written, read = (_dataset(case, folder) for _ in range(2))
        written.extend(graphs)
        written.close()
        loader = pyg_loader.DataLoader(
            read,  # its connection is opened by the process that reads, each worker has one
            batch_size=size(case.graph),
            sampler=list(range(len(graphs))) * REPEATS,
            num_workers=int(case.spec.operation.split("_")[-2]),
        )
        try:
            with Loading(loader) as running:
                yield running
        finally:
            read.close()


def _dataset(case: Case, folder: str) -> Any:
    """Return the data set of a folder: a row of SQLite for each graph, a column for each tensor."""

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


OPERATIONS = tuple(
    Operation(
        f"disk_loader_{workers}_workers",
        {"pyg": Call(f"DataLoader of OnDiskDataset (SQLite), {workers} workers", limits=(ON_CPU, _STORED))},
        {
            "sparse": "OnDiskDataset stores tensors: see pyg",
            "torch": "plain PyTorch has no batches of graphs",
            "dgl": "DGL's data set on disk is GraphBolt's, which has no build for this PyTorch",
        },
        directions=(FORWARD,),
        reference=reference,
        default=False,
        batched=True,
        graphs=MOLECULES,
        group="batches",
        batches=BATCHES,
    )
    for workers in (0, 2)
)
