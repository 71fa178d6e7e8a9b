"""Open Graph Benchmark node data sets, through ogb's own NodePropPredDataset."""

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

    Edges lose their direction. Of ogbn-mag only papers citing papers are taken. Nodes without features (in
    ogbn-proteins) get the mean of their edges' features.

    Args:
        dataset: one of the family `ogb`.
        origin: its folder under the data root, which is only read; None to download.
        cache: where the library downloads and processes.
        meta: ogb's `meta_dict` for a data set of one's own; its `dir_path` is replaced.

    Raises:
        UsageError: broken files, a failed download, a cache that cannot be written.
    """
    # Without a release note of the newest version ogb asks whether to delete the files: not ours. Before a
    # large download it asks as well: there is room, or `capacity` had refused.
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
    """Class numbers; ogbn-papers100M has nan where a paper has none, which no split contains: 0."""
    classes: NDArray[np.int64] = np.nan_to_num(labels.reshape(-1), nan=0).astype(np.int64)
    return classes


def _mean_of_edges(
    edges: NDArray[np.int64], features: NDArray[np.float32], nodes: int
) -> NDArray[np.float32]:
    """Mean of the features of the edges that end at a node, zeros where none does: float32 [N, K]."""
    count = np.maximum(np.bincount(edges[1], minlength=nodes), 1)
    columns = [np.bincount(edges[1], weights=column, minlength=nodes) / count for column in features.T]
    return np.stack(columns, axis=1).astype(np.float32)


@contextmanager
def _loader() -> Iterator[Any]:
    """Import NodePropPredDataset without what comes with it, and let it read its own files.

    `import ogb` asks a package index for newer versions of ogb and of `outdated`, in threads without a time
    limit that also hold up the end of the process; `ogb.nodeproppred` imports dgl. It can do without both.
    """
    with hidden("outdated", "dgl"):
        from ogb.nodeproppred import dataset
    dataset.torch = SimpleNamespace(load=_load, save=torch.save)
    try:
        yield dataset.NodePropPredDataset
    finally:
        dataset.torch = torch


def _load(path: str) -> Any:
    # ogb calls torch.load without more, and torch >= 2.6 then refuses arrays. `safe_globals` would not help:
    # ogb writes pickle protocol 4, which torch's own safe reader does not know.
    return torch.load(path, weights_only=False, pickle_module=array_pickle)
