"""Loads a graph by its name, with the readers of PyG, ogb and SciPy, or a generator."""

import hashlib
import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ...engine.ground.errors import UsageError
from ...engine.ground.files import cache_folder, hold
from ...engine.ground.packages import hidden
from ...engine.measure.memory import is_out_of_memory
from . import synthetic
from .catalog import Dataset, DatasetName, resolve
from .graph import Graph
from .published import data_folder, raw_folder

_READERS = b"1"
"""Version of `_ogb`; change it when it begins to make another graph from the same files."""


def load(name: DatasetName, data_root: Path | None, cache: Path) -> Graph:
    """Read or generate a graph on the CPU.

    `data_root` is the folder of real data sets, which is only read. Graphs that take long to read are kept in
    `cache`. Raises UsageError if memory is too small, or if files are missing or broken.
    """
    dataset = name.dataset
    if name.path or name.synthetic:
        folder = None
    elif (folder := raw_folder(dataset, data_root)) is None:
        raise UsageError(f"{name.id} is not in the data folder; use {name.id}:synthetic")
    try:
        if folder is None:
            return matrix_market(name.path) if name.path else _generate(name)
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            return _read(dataset, folder, cache)
    except UsageError:
        raise
    except Exception as error:  # parsers raise all kinds
        if is_out_of_memory(error):
            reason = f"does not fit into memory ({_reason(error)}); use a smaller graph"
        elif folder:
            remedy = f"replace them, or use {name.id}:synthetic"
            reason = f"the files in {folder} cannot be read ({_reason(error)}); {remedy}"
        else:
            raise
        raise UsageError(f"{name.id}: {reason}") from error


def _generate(name: DatasetName) -> Graph:
    functions = (synthetic.rmat, synthetic.uniform, synthetic.hub, synthetic.molecules)
    generators = {function.__name__: function for function in functions}
    return generators.get(name.dataset.family, synthetic.stand_in)(name)


def _read(dataset: Dataset, folder: Path, cache: Path) -> Graph:
    if dataset.family == "planetoid":
        return _planetoid(dataset, folder)
    # Tables take long to read, so the graph is cached.
    file = cache / "graphs" / f"{dataset.id}-{_fingerprint(folder)}.pt"
    with hold(file.with_suffix(".lock"), cache):
        if file.exists():
            return Graph(**torch.load(file, weights_only=True))
        graph = _ogb(dataset, folder)
        partial = file.with_suffix(".unfinished")
        torch.save(vars(graph), partial)
        partial.replace(file)
        return graph


def _fingerprint(folder: Path) -> str:
    """Return a short digest of the files' paths, sizes and modification times."""
    digest = hashlib.sha256(_READERS)
    for file in sorted((*folder.glob("raw/**/*"), *folder.glob("split/**/*"))):
        status = file.stat()
        digest.update(f"{file.resolve()} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _planetoid(dataset: Dataset, folder: Path) -> Graph:
    """Read a data set with its "public" split; each row of features is divided by its sum, as usual."""
    from torch_geometric.io import read_planetoid_data
    from torch_geometric.transforms import NormalizeFeatures

    data = NormalizeFeatures()(read_planetoid_data(str(folder), dataset.title))
    source, target = data.edge_index.numpy()
    masks = (data.train_mask, data.val_mask, data.test_mask)
    parts = (mask.nonzero().view(-1).numpy() for mask in masks)
    x, y = data.x.numpy(), data.y.numpy()
    return Graph.build(dataset.id, source, target, x, y, dataset.classes, *parts, synthetic=False)


def _ogb(dataset: Dataset, folder: Path) -> Graph:
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
    if layout != "coordinate" or rows != columns or not rows:
        form = f"in the format '{layout}', {rows} by {columns}"
        raise UsageError(f"{path}: the matrix is {form}; a graph needs 'coordinate', square and not empty")
    return Graph.build(
        path.name,
        matrix.row.astype(np.int64),
        matrix.col.astype(np.int64),
        *synthetic.attributes(rows),
        synthetic=False,
    )


def load_by_id(text: str) -> Graph:
    """Load a graph by its id, as the suite does: `cora`, `ogbn-arxiv:synthetic@0.1`, `rmat:14`.

    The data folder is GNNBENCH_DATA. An unavailable published data set is replaced by its synthetic stand-in,
    whose name the graph then has. Raises UsageError as `load` and `DatasetName.parse` do.
    """
    root = data_folder()
    (name,), _ = resolve([DatasetName.parse(text)], root, real_only=False)
    return load(name, root, cache_folder())


def _reason(error: Exception) -> str:
    """Return the first line of an exception's message, or its type."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
