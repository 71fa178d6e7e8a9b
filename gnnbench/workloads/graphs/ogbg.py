"""Reads Open Graph Benchmark data sets of many graphs through ogb's GraphPropPredDataset, as one graph."""

from pathlib import Path

import numpy as np

from .catalog import Dataset
from .graph import Graph
from .ogb import opened


def read(dataset: Dataset, origin: Path | None, cache: Path) -> Graph:
    """Read a data set with its standard split; features of edges are left out.

    Args:
        dataset: one of the family `ogbg`, with one task.
        origin: its folder in the data folder, which is only read; None: download.
        cache: folder in which the library downloads and processes.

    Raises:
        UsageError: files are broken, the download failed, or the cache is not writable.
    """
    with opened(dataset, origin, cache, "ogb.graphproppred", "GraphPropPredDataset") as (data, parts):
        graphs = data.graphs
        sizes = np.array([graph["num_nodes"] for graph in graphs], dtype=np.int64)
        labels = data.labels.reshape(-1).astype(np.int64)
        if len(labels) != len(graphs):
            raise ValueError(f"{len(labels)} labels for {len(graphs)} graphs")
        first = np.cumsum(sizes) - sizes
        edges = []
        for start, size, graph in zip(first, sizes, graphs, strict=True):
            ends = graph["edge_index"]
            if ends.size and not 0 <= ends.min() <= ends.max() < size:
                raise ValueError(f"a graph of {size} nodes has an edge to node {ends.max()}")
            edges.append(ends + start)
        source, target = np.concatenate(edges, axis=1)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        train, val, test = (
            np.flatnonzero(np.isin(owner, np.asarray(parts[part]))) for part in ("train", "valid", "test")
        )
        x = np.concatenate([graph["node_feat"] for graph in graphs]).astype(np.float32)
    return Graph.build(
        dataset.id,
        source,
        target,
        x,
        labels[owner],
        dataset.classes,
        train,
        val,
        test,
        synthetic=False,
        sizes=sizes,
    )
