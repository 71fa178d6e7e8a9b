"""Reads Open Graph Benchmark data sets through ogb: of nodes, and of many graphs as one graph."""

import importlib
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...packages import hidden
from . import array_pickle, attributes
from .catalog import Dataset
from .graph import Graph
from .stream import Stream
from .workspace import link_files, workspace

_PAPERS = "paper"
_CITES = ("paper", "cites", "paper")


def read(dataset: Dataset, origin: Path | None, cache: Path) -> Graph:
    """Read a data set with its standard split.

    Edges become undirected. ogbn-mag is reduced to its citations between papers; ogbn-mag-hetero has all
    types of nodes and edges, and made-up features for all but papers. Nodes without features (in
    ogbn-proteins) get the mean of their edges' features.

    Args:
        origin: its folder in the data folder, which is only read; None: download.
    """
    with _opened(dataset, origin, cache, "ogb.nodeproppred", "NodePropPredDataset") as (data, parts):
        graph, labels = data[0]
        split = [parts["train"], parts["valid"], parts["test"]]
        types: dict[str, Any] = {}
        if data.is_hetero:
            labels, split = labels[_PAPERS], [part[_PAPERS] for part in split]
            edges, nodes = graph["edge_index_dict"][_CITES], graph["num_nodes_dict"][_PAPERS]
            x = graph["node_feat_dict"][_PAPERS]
        else:
            edges, nodes = graph["edge_index"], graph["num_nodes"]
            x = graph["node_feat"]
        if x is None:
            x = _mean_of_edges(edges, graph["edge_feat"], int(nodes))
        y = labels.astype(np.float32) if dataset.multi_label else _classes(labels)
        if dataset.relations:
            edges, x, y, types = _typed(dataset, graph, x, y)
        source, target = edges
        train, val, test = (np.asarray(part) for part in split)
    return Graph.build(
        dataset.id, source, target, x, y, dataset.classes, train, val, test, synthetic=False, **types
    )


def _typed(
    dataset: Dataset, graph: Mapping[str, Any], x: NDArray[np.float32], y: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64], dict[str, Any]]:
    """Return edges, features and classes of all types of nodes, and the types for `Graph.build`.

    `x` and `y` are those of the papers, which come first. Others get random features and class 0.
    """
    relations = tuple(relation for relation, _ in dataset.relations)
    sizes = {name: int(graph["num_nodes_dict"][name]) for name, _ in dataset.node_types}
    first = dict(zip(sizes, np.cumsum([0, *sizes.values()]), strict=False))
    edges, edge_type = [], []
    for index, relation in enumerate(relations):
        if not relation.is_reverse:
            ends = graph["edge_index_dict"][relation]
            both = (relation.source, relation.target)
            if ((ends < 0) | (ends >= np.array([[sizes[end]] for end in both]))).any():
                raise ValueError(f"'{relation.name}' has a node that is not there")
            edges.append(ends + np.array([[first[end]] for end in both]))
            edge_type.append(np.full(ends.shape[1], index))
    others = sum(sizes.values()) - len(x)
    no_class = np.zeros(others, dtype=np.int64)
    made_up = attributes.dense(Stream(others), no_class, 1, x.shape[1])
    types = {"edge_type": np.concatenate(edge_type), "relations": relations, "type_sizes": sizes}
    return np.concatenate(edges, axis=1), np.concatenate((x, made_up)), np.concatenate((y, no_class)), types


def _classes(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return class numbers; papers without a class (nan in ogbn-papers100M, in no split) get 0."""
    classes: NDArray[np.int64] = np.nan_to_num(labels.reshape(-1), nan=0).astype(np.int64)
    return classes


def _mean_of_edges(
    edges: NDArray[np.int64], features: NDArray[np.float32], nodes: int
) -> NDArray[np.float32]:
    """Return the mean feature of the edges that end at each node, zeros without edges: float32 [N, K]."""
    count = np.maximum(np.bincount(edges[1], minlength=nodes), 1)
    columns = [np.bincount(edges[1], weights=column, minlength=nodes) / count for column in features.T]
    return np.stack(columns, axis=1).astype(np.float32)


@contextmanager
def _opened(
    dataset: Dataset, origin: Path | None, cache: Path, package: str, name: str
) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Yield ogb's object of a data set, and its split; the arguments are those of `read` and `_loader`."""
    # For an outdated copy, ogb asks whether to delete the files: no. It also asks before a large download:
    # yes, as `capacity` has checked the disk.
    with workspace(dataset, origin, cache, "n" if origin else "y") as root:
        folder = root / dataset.folder.replace("-", "_")
        if origin:
            link_files(origin, folder)
            (folder / "processed").mkdir(exist_ok=True)
        with _loader(package, name) as load:
            data = load(dataset.title, str(root))
            parts = data.get_idx_split()
        yield data, parts


@contextmanager
def _loader(package: str, name: str) -> Iterator[Any]:
    """Import one of ogb's classes without two unneeded dependencies, and make it read files safely.

    `import ogb` queries a package index for newer versions, in threads without timeout that delay the end
    of the process; its packages import dgl. Both are hidden from it.
    """
    with hidden("outdated", "dgl"):
        module: Any = importlib.import_module(f"{package}.dataset")
    module.torch = SimpleNamespace(load=_load, save=torch.save)
    try:
        yield getattr(module, name)
    finally:
        module.torch = torch


def _load(path: str, *_: str) -> Any:  # ogb passes a mode where torch.load has none
    # By default torch >= 2.6 refuses arrays in torch.load. `safe_globals` does not help: ogb writes pickle
    # protocol 4, which torch's safe reader does not support.
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if any(name.endswith("/constants.pkl") for name in archive.namelist()):
                raise ValueError(f"{Path(path).name} is TorchScript, not arrays")
    return torch.load(path, weights_only=False, pickle_module=array_pickle)


def read_molecules(dataset: Dataset, origin: Path | None, cache: Path) -> Graph:
    """Read a data set with its standard split; features of edges are left out.

    Args:
        origin: its folder in the data folder, which is only read; None: download.
    """
    with _opened(dataset, origin, cache, "ogb.graphproppred", "GraphPropPredDataset") as (data, parts):
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
