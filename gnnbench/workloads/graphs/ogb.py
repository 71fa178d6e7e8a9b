"""Reads Open Graph Benchmark node data sets through ogb's NodePropPredDataset."""

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
from . import array_pickle
from .catalog import Dataset
from .graph import Graph
from .library import tamed
from .workspace import link_files, workspace

_PAPERS = "paper"
_CITES = ("paper", "cites", "paper")


def read(dataset: Dataset, origin: Path | None, cache: Path, meta: Mapping[str, Any] | None = None) -> Graph:
    """Read a data set with its standard split.

    Edges become undirected. ogbn-mag is reduced to its citations between papers. Nodes without features (in
    ogbn-proteins) get the mean of their edges' features.

    Args:
        dataset: one of the family `ogb`.
        origin: its folder in the data folder, which is only read; None: download.
        cache: folder in which the library downloads and processes.
        meta: ogb's `meta_dict`, for a custom data set; its `dir_path` is replaced.

    Raises:
        UsageError: files are broken, the download failed, or the cache is not writable.
    """
    # For an outdated copy, ogb asks whether to delete the files: no. It also asks before a large download:
    # yes, as `capacity` has checked the disk.
    answer = "n" if origin else "y"
    with workspace(dataset, origin, cache) as root, tamed(dataset, origin, answer):
        folder = root / dataset.id.replace("-", "_")
        if origin:
            link_files(origin, folder)
            (folder / "processed").mkdir(exist_ok=True)
        with _loader() as loader:
            data = loader(dataset.id, str(root), dict(meta, dir_path=str(folder)) if meta else None)
            parts = data.get_idx_split()
        graph, labels = data[0]
        split = [parts["train"], parts["valid"], parts["test"]]
        if data.is_hetero:
            labels, split = labels[_PAPERS], [part[_PAPERS] for part in split]
            edges, nodes = graph["edge_index_dict"][_CITES], graph["num_nodes_dict"][_PAPERS]
            x = graph["node_feat_dict"][_PAPERS]
        else:
            edges, nodes = graph["edge_index"], graph["num_nodes"]
            x = graph["node_feat"]
        if x is None:
            x = _mean_of_edges(edges, graph["edge_feat"], int(nodes))
        source, target = edges
        y = labels.astype(np.float32) if dataset.multi_label else _classes(labels)
        train, val, test = (np.asarray(part) for part in split)
    return Graph.build(dataset.id, source, target, x, y, dataset.classes, train, val, test, synthetic=False)


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
def _loader() -> Iterator[Any]:
    """Import NodePropPredDataset without two unneeded dependencies, and make it read files safely.

    `import ogb` queries a package index for newer versions, in threads without timeout that delay the end
    of the process; `ogb.nodeproppred` imports dgl. Both are hidden from it.
    """
    with hidden("outdated", "dgl"):
        from ogb.nodeproppred import dataset
    dataset.torch = SimpleNamespace(load=_load, save=torch.save)
    try:
        yield dataset.NodePropPredDataset
    finally:
        dataset.torch = torch


def _load(path: str) -> Any:
    # By default torch >= 2.6 refuses arrays in torch.load. `safe_globals` does not help: ogb writes pickle
    # protocol 4, which torch's safe reader does not support.
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if any(name.endswith("/constants.pkl") for name in archive.namelist()):
                raise ValueError(f"{Path(path).name} is TorchScript, not arrays")
    return torch.load(path, weights_only=False, pickle_module=array_pickle)
