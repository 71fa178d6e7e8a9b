"""Reads data sets of the Open Graph Benchmark with ogb's readers.

Its classes of data sets ask questions, write beside the files, and cannot read that with torch 2.6.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...engine.ground.packages import hidden
from .catalog import Dataset
from .graph import Graph
from .stream import Floats, Ints


def read(dataset: Dataset, folder: Path) -> Graph:
    """Read a data set with its standard split from a folder with `raw` and `split`.

    Edges become undirected. In ogbn-proteins, nodes get the mean of their edges' features.
    """
    with hidden("outdated"):  # `import ogb` would query a package index for newer versions, in a thread
        from ogb.io import read_graph_raw as readers
    raw = folder / "raw"
    split = [_table(folder / "split", part)[:, 0].astype(np.int64) for part in ("train", "valid", "test")]
    (graph,) = readers.read_csv_graph_raw(str(raw), add_inverse_edge=dataset.edge_features > 0)
    edges, x, labels = graph["edge_index"], graph["node_feat"], _table(raw, "node-label")
    if x is None:
        x = _mean_of_edges(edges, graph["edge_feat"], graph["num_nodes"])
    y = labels.astype(np.float32) if dataset.multi_label else labels.reshape(-1).astype(np.int64)
    return Graph.build(dataset.id, *edges, x, y, dataset.classes, *split, synthetic=False)


def _table(folder: Path, name: str) -> NDArray[np.float64]:
    """Return the one table of a name under a folder: float64 [rows, columns]."""
    files = list(folder.rglob(f"{name}.csv.gz"))
    if len(files) != 1:
        raise ValueError(f"{folder.name} has {len(files)} files {name}.csv.gz")
    return np.loadtxt(files[0], delimiter=",", ndmin=2)


def _mean_of_edges(edges: Ints, features: Floats, nodes: int) -> Floats:
    """Return the mean feature of the edges that end at each node, zeros without edges: float32 [N, K]."""
    count = np.maximum(np.bincount(edges[1], minlength=nodes), 1)
    columns = [np.bincount(edges[1], weights=column, minlength=nodes) / count for column in features.T]
    return np.stack(columns, axis=1).astype(np.float32)
