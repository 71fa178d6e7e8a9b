"""Loads a graph by its name."""

import hashlib
import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import torch

from ...engine.ground.errors import UsageError
from ...engine.ground.files import cache_folder, hold
from ...engine.measure.memory import is_out_of_memory
from . import readers, synthetic
from .catalog import Dataset, DatasetName, resolve
from .graph import Graph
from .published import data_folder, raw_folder

_READERS = b"1"
"""Version of the readers; change it when a reader begins to make another graph from the same files."""


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
            return readers.matrix_market(name.path) if name.path else _generate(name)
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
        return readers.planetoid(dataset, folder)
    # Tables take long to read, so the graph is cached.
    file = cache / "graphs" / f"{dataset.id}-{_fingerprint(folder)}.pt"
    with hold(file.with_suffix(".lock"), cache):
        if file.exists():
            return Graph(**torch.load(file, weights_only=True))
        graph = readers.ogb(dataset, folder)
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
