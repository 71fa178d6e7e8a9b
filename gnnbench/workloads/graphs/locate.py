"""Finds a data set's files: in the data folder, in the cache, or on the network."""

import os
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ... import units
from ...errors import UsageError
from ...files import user_path
from .catalog import Dataset, DatasetName

DATA_VARIABLE = "GNNBENCH_DATA"
DOWNLOADED = "download/.complete"
"""File in the data set's cache folder; it exists once the data set was downloaded and read."""
_PROBE_SECONDS = 3.0
_PLANETOID_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
ENTITIES_FILES = ("aifb_stripped.nt.gz", "trainingSet.tsv", "testSet.tsv")
"""Triples; people and their groups, to train on and to test on."""
# One of them is in the raw folder: of a table, a binary table, or several relations.
_OGB_RAW_FILES = ("edge.csv.gz", "data.npz", "triplet-type-list.csv.gz")


def data_folder(given: str | None = None) -> Path | None:
    """Return the folder of real data sets: the given one, else `GNNBENCH_DATA`, else None."""
    text = given or os.environ.get(DATA_VARIABLE)
    if not text:
        return None
    folder = user_path(text)
    if not folder.is_dir():
        raise UsageError(
            f"data folder {text} does not exist; give another one (option, or {DATA_VARIABLE}), or none"
        )
    return folder.resolve()


def under_data_root(dataset: Dataset, data_root: Path | None) -> Path | None:
    """Return the folder of the data set's files; None if any is missing.

    The layout is that of the libraries: `Planetoid/Cora/raw` with its eight files, `Entities/aifb/raw` with
    three files, or `ogbn_arxiv` with `raw` and `split`, directly in the data folder or in its `ogb`.
    """
    if data_root is None:
        return None
    if dataset.family == "planetoid":
        raw = data_root / "Planetoid" / dataset.title / "raw"
        names = [f"ind.{dataset.id}.{part}" for part in _PLANETOID_PARTS]
        return raw if all((raw / name).is_file() for name in names) else None
    if dataset.family == "entities":
        raw = data_root / "Entities" / dataset.id / "raw"
        return raw if all((raw / name).is_file() for name in ENTITIES_FILES) else None
    for parent in (data_root / "ogb", data_root):
        folder = parent / dataset.folder.replace("-", "_")
        if (folder / "split").is_dir() and any((folder / "raw" / name).is_file() for name in _OGB_RAW_FILES):
            return folder
    return None


def place(dataset: Dataset, data_root: Path | None, cache: Path) -> str | None:
    """Return where the data set is on this machine: `data root` or `cache`; None: it must be downloaded."""
    if under_data_root(dataset, data_root):
        return "data root"
    return "cache" if (cache / dataset.folder / DOWNLOADED).exists() else None


@cache
def is_reachable(url: str) -> bool:
    """Whether a data set's address answers within three seconds, through the system's proxies if any."""
    import urllib.request  # imports ssl, which is slow

    answered = threading.Event()

    def ask() -> None:
        try:
            request = urllib.request.Request(url, method="HEAD")  # noqa: S310 - a constant of the catalog
            with urllib.request.build_opener().open(request, timeout=_PROBE_SECONDS):
                answered.set()
        except OSError:
            pass

    # In a thread, because the lookup of a host name has no timeout.
    probe = threading.Thread(target=ask, daemon=True)
    probe.start()
    probe.join(_PROBE_SECONDS)
    return answered.is_set()


def resolve(
    names: Iterable[DatasetName], data_root: Path | None, cache: Path, real_only: bool
) -> tuple[list[DatasetName], list[str]]:
    """Replace unavailable data sets by their synthetic stand-ins; `real_only`: raise an error instead.

    Returns:
        The names without duplicates, and a line for each data set that was replaced or will be downloaded.
    """
    resolved: dict[str, DatasetName] = {}
    notices = []
    for asked in names:
        name = asked
        dataset = asked.published
        if dataset and not asked.synthetic and not place(dataset, data_root, cache):
            if is_reachable(dataset.url):
                notices.append(
                    f"{name.id} will be downloaded ({units.size(dataset.download_bytes)}) to {cache}"
                )
            elif real_only:
                raise UsageError(
                    f"{name.id} is not in the data folder and cannot be downloaded; put its files there "
                    f"(--gnn-data), or omit --gnn-real to use its synthetic stand-in {name.twin.id}"
                )
            else:
                name = asked.twin
                notices.append(
                    f"{asked.id} is not in the data folder and cannot be downloaded: using its synthetic "
                    f"stand-in {name.id} (--gnn-real to fail instead)"
                )
        other = resolved.setdefault(name.id, name)
        if other.path != name.path:
            raise UsageError(f"{other.path} and {name.path} have the same name: rename one of the files")
    return list(resolved.values()), notices
