"""Reads Open Graph Benchmark data sets with ogb's readers: of nodes, and of many graphs as one graph.

Its classes of data sets ask questions, write beside the files, and cannot read that with torch 2.6.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.ground.packages import hidden
from . import attributes
from .catalog import Dataset
from .graph import Graph
from .stream import Floats, Ints, Stream

_PAPERS = "paper"


def read(dataset: Dataset, folder: Path) -> Graph:
    """Read a data set with its standard split from a folder with `raw` and `split`.

    Edges become undirected. Nodes without features get the mean of their edges' features in ogbn-proteins,
    and made-up ones in ogbn-mag-hetero. Of many graphs, features of edges are left out.
    """
    with hidden("outdated"):  # `import ogb` would query a package index for newer versions, in a thread
        from ogb.io import read_graph_raw as readers
    raw = folder / "raw"
    split = [_table(folder / "split", part)[:, 0].astype(np.int64) for part in ("train", "valid", "test")]
    types: dict[str, Any] = {}
    if dataset.graphs:
        edges, x, sizes = _molecules(readers.read_csv_graph_raw(str(raw)))
        owner, types = np.repeat(np.arange(len(sizes)), sizes), {"sizes": sizes}
        labels = _table(raw, "graph-label")
        if len(labels) != len(sizes):
            raise ValueError(f"{len(labels)} labels for {len(sizes)} graphs")
        labels, split = labels[owner], [np.flatnonzero(np.isin(owner, part)) for part in split]
    elif dataset.relations:
        (graph,) = readers.read_csv_heterograph_raw(str(raw))
        edges, x, types = _typed(dataset, graph)
        others = len(x) - graph["num_nodes_dict"][_PAPERS]
        labels = np.append(_table(raw, "node-label"), np.zeros(others))
    else:
        (graph,) = readers.read_csv_graph_raw(str(raw), add_inverse_edge=dataset.edge_features > 0)
        edges, x, labels = graph["edge_index"], graph["node_feat"], _table(raw, "node-label")
        if x is None:
            x = _mean_of_edges(edges, graph["edge_feat"], graph["num_nodes"])
    source, target = edges
    y = labels.astype(np.float32) if dataset.multi_label else labels.reshape(-1).astype(np.int64)
    return Graph.build(dataset.id, source, target, x, y, dataset.classes, *split, synthetic=False, **types)


def _table(folder: Path, name: str) -> NDArray[np.float64]:
    """Return the one table of a name under a folder: float64 [rows, columns]."""
    files = list(folder.rglob(f"{name}.csv.gz"))
    if len(files) != 1:
        raise ValueError(f"{folder.name} has {len(files)} files {name}.csv.gz")
    return np.loadtxt(files[0], delimiter=",", ndmin=2)


def _typed(dataset: Dataset, graph: Mapping[str, Any]) -> tuple[Ints, Floats, dict[str, Any]]:
    """Return edges, features (random ones of all but papers), and the types for `Graph.build`."""
    x = graph["node_feat_dict"][_PAPERS]
    relations = tuple(relation for relation, _ in dataset.relations)
    sizes = {name: int(graph["num_nodes_dict"][name]) for name, _ in dataset.node_types}
    first = dict(zip(sizes, np.cumsum([0, *sizes.values()]), strict=False))
    edges, edge_type = [], []
    for index, relation in enumerate(relations):
        if not relation.is_reverse:
            ends, both = graph["edge_index_dict"][relation], (relation.source, relation.target)
            edges.append(_shifted(ends, [sizes[end] for end in both], [first[end] for end in both]))
            edge_type.append(np.full(ends.shape[1], index))
    others = sum(sizes.values()) - len(x)
    made_up = attributes.dense(Stream(others), np.zeros(others, dtype=np.int64), 1, x.shape[1])
    types = {"edge_type": np.concatenate(edge_type), "relations": relations, "type_sizes": sizes}
    return np.concatenate(edges, axis=1), np.concatenate((x, made_up)), types


def _molecules(graphs: Sequence[Mapping[str, Any]]) -> tuple[Ints, Floats, Ints]:
    """Return edges and features of the nodes of all graphs, and the graphs' numbers of nodes."""
    sizes = np.array([graph["num_nodes"] for graph in graphs], dtype=np.int64)
    edges = [
        _shifted(graph["edge_index"], [size] * 2, [first] * 2)
        for first, size, graph in zip(np.cumsum(sizes) - sizes, sizes, graphs, strict=True)
    ]
    x = np.concatenate([graph["node_feat"] for graph in graphs]).astype(np.float32)
    return np.concatenate(edges, axis=1), x, sizes


def _shifted(ends: Ints, sizes: Sequence[int], first: Sequence[int]) -> Ints:
    """Return edges between parts of a graph with the graph's node numbers: int64 [2, M]."""
    for nodes, size in zip(ends, sizes, strict=True):
        if ((nodes < 0) | (nodes >= size)).any():
            raise ValueError(f"an edge has a node outside 0..{size - 1}")
    return ends + np.array(first)[:, None]


def _mean_of_edges(edges: Ints, features: Floats, nodes: int) -> Floats:
    """Return the mean feature of the edges that end at each node, zeros without edges: float32 [N, K]."""
    count = np.maximum(np.bincount(edges[1], minlength=nodes), 1)
    columns = [np.bincount(edges[1], weights=column, minlength=nodes) / count for column in features.T]
    return np.stack(columns, axis=1).astype(np.float32)
