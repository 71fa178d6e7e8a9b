"""Finds a data set's files in the data folder."""

import os
from collections.abc import Iterable
from pathlib import Path

from ...engine.ground.errors import UsageError
from ...engine.ground.files import user_path
from .catalog import Dataset, DatasetName

DATA_VARIABLE = "GNNBENCH_DATA"
_PLANETOID_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


def data_folder(path: str | None = None) -> Path | None:
    """Return the folder of real data sets: `path`, else `GNNBENCH_DATA`, else None."""
    text = path or os.environ.get(DATA_VARIABLE)
    if not text:
        return None
    folder = user_path(text)
    if not folder.is_dir():
        raise UsageError(
            f"data folder {text} does not exist; set another one (--gnn-data or {DATA_VARIABLE}), or none"
        )
    return folder.resolve()


def raw_folder(dataset: Dataset, root: Path | None) -> Path | None:
    """Return the folder of the data set's files below a data folder; None if any is missing.

    The layout is the libraries' layout: `Planetoid/Cora/raw` with eight files, or `ogbn_arxiv` with `raw` and
    `split`, directly in the data folder or in its subfolder `ogb`.
    """
    if root is None or dataset.relations:
        return None
    if dataset.family == "planetoid":
        folder = root / "Planetoid" / dataset.title / "raw"
        files = (folder / f"ind.{dataset.id}.{part}" for part in _PLANETOID_PARTS)
        return folder if all(file.is_file() for file in files) else None
    name = dataset.id.replace("-", "_")
    for folder in (root / "ogb" / name, root / name):
        if (folder / "split").is_dir() and (folder / "raw" / "edge.csv.gz").is_file():
            return folder
    return None


def resolve(
    names: Iterable[DatasetName], data_root: Path | None, real_only: bool
) -> tuple[list[DatasetName], list[str]]:
    """Return the names without duplicates, and a line for each replaced data set.

    A synthetic stand-in replaces a data set without files; with `real_only`, UsageError is raised instead.
    """
    resolved: dict[str, DatasetName] = {}
    notices = []
    for request in names:
        name = request
        if not (request.synthetic or request.path or raw_folder(request.dataset, data_root)):
            twin, reason = f"{request.id}:synthetic", f"{request.id} is not in the data folder"
            if real_only:
                raise UsageError(
                    f"{reason}; put its files there (--gnn-data), or omit --gnn-real to use {twin}"
                )
            name = DatasetName.parse(twin)
            notices.append(f"{reason}: using its synthetic stand-in {twin} (--gnn-real to fail instead)")
        other = resolved.setdefault(name.id, name)
        if other.path != name.path:
            raise UsageError(f"{other.path} and {name.path} have the same name: rename one of the files")
    return list(resolved.values()), notices
