"""Reads graphs from files with the readers of PyG, ogb and SciPy."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...engine.ground.errors import UsageError
from ...engine.ground.packages import hidden
from .catalog import Dataset
from .graph import Graph
from .synthetic import attributes


def planetoid(dataset: Dataset, folder: Path) -> Graph:
    """Read a data set with its "public" split; each row of features is divided by its sum, as usual."""
    from torch_geometric.io import read_planetoid_data
    from torch_geometric.transforms import NormalizeFeatures

    data = NormalizeFeatures()(read_planetoid_data(str(folder), dataset.title))
    source, target = data.edge_index.numpy()
    masks = (data.train_mask, data.val_mask, data.test_mask)
    parts = (mask.nonzero().view(-1).numpy() for mask in masks)
    x, y = data.x.numpy(), data.y.numpy()
    return Graph.build(dataset.id, source, target, x, y, dataset.classes, *parts, synthetic=False)


def ogb(dataset: Dataset, folder: Path) -> Graph:
    """Read a data set with its standard split from a folder with `raw` and `split`.

    Edges become undirected. ogb's own classes would prompt the user, and write a cache next to the files;
    torch 2.6 and later cannot load this cache.
    """
    with hidden("outdated"):  # otherwise `import ogb` queries a package index for newer versions, in a thread
        from ogb.io import read_graph_raw as readers
    raw = folder / "raw"
    split = [_table(folder / "split", part)[:, 0].astype(np.int64) for part in ("train", "valid", "test")]
    (graph,) = readers.read_csv_graph_raw(str(raw), add_inverse_edge=False)
    source, target = graph["edge_index"]
    x, y = graph["node_feat"], _table(raw, "node-label").reshape(-1).astype(np.int64)
    return Graph.build(dataset.id, source, target, x, y, dataset.classes, *split, synthetic=False)


def _table(folder: Path, name: str) -> NDArray[np.float64]:
    """Return the only table of this name under a folder: float64 [rows, columns]."""
    files = list(folder.rglob(f"{name}.csv.gz"))
    if len(files) != 1:
        raise ValueError(f"{folder.name} has {len(files)} files named {name}.csv.gz, not 1")
    return np.loadtxt(files[0], delimiter=",", ndmin=2)


def matrix_market(path: Path) -> Graph:
    """Read a graph's structure from a Matrix Market file; features, labels and split are synthetic.

    Entries become undirected edges, whether the file lists one direction (symmetric) or both. Values, loops
    and duplicates are dropped. The graph does not count as synthetic, because times depend on the structure.
    """
    import scipy.io

    try:
        rows, columns, _, layout, *_ = scipy.io.mminfo(path)
        matrix = scipy.io.mmread(path)
    except (OSError, ValueError, OverflowError) as error:
        raise UsageError(
            f"{path}: not a readable Matrix Market file ({error}); repair or replace it"
        ) from error
    if layout != "coordinate":
        raise UsageError(f"{path}: the matrix is dense ('{layout}'); a graph needs the format 'coordinate'")
    if rows != columns or not rows:
        raise UsageError(f"{path}: the matrix is {rows} by {columns}; it must be square and not empty")
    return Graph.build(
        path.name,
        matrix.row.astype(np.int64),
        matrix.col.astype(np.int64),
        *attributes(rows),
        synthetic=False,
    )
