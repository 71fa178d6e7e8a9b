"""Where a data set's files are: under the data root, in the cache, on the network, or nowhere."""

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
"""In the cache's folder for a data set: there once it has been downloaded and read."""
_PROBE_SECONDS = 3.0
_PLANETOID_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
# One of them is in the raw folder: a table, a binary one, several relations.
_OGB_RAW_FILES = ("edge.csv.gz", "data.npz", "triplet-type-list.csv.gz")


def data_folder(given: str | None = None) -> Path | None:
    """Return the folder of real data sets: the one given, else that of `GNNBENCH_DATA`, else None.

    Raises:
        UsageError: the folder is not there.
    """
    text = given or os.environ.get(DATA_VARIABLE)
    if not text:
        return None
    folder = user_path(text)
    if not folder.is_dir():
        raise UsageError(
            f"data folder {text} is not there; give another, or none, by option or in {DATA_VARIABLE}"
        )
    return folder.resolve()


def under_data_root(dataset: Dataset, data_root: Path | None) -> Path | None:
    """Return the folder with the data set's own files, or None where they are not all there.

    As the libraries lay them out: `Planetoid/Cora/raw` with its eight files, or `ogbn_arxiv` with `raw` and
    `split`, directly under the root or in `ogb`.
    """
    if data_root is None:
        return None
    if dataset.family == "planetoid":
        raw = data_root / "Planetoid" / dataset.title / "raw"
        names = [f"ind.{dataset.id}.{part}" for part in _PLANETOID_PARTS]
        return raw if all((raw / name).is_file() for name in names) else None
    for parent in (data_root / "ogb", data_root):
        folder = parent / dataset.id.replace("-", "_")
        if (folder / "split").is_dir() and any((folder / "raw" / name).is_file() for name in _OGB_RAW_FILES):
            return folder
    return None


def place(dataset: Dataset, data_root: Path | None, cache: Path) -> str | None:
    """Say where the data set is: `data root`, `cache`, or None."""
    if under_data_root(dataset, data_root):
        return "data root"
    return "cache" if (cache / dataset.id / DOWNLOADED).exists() else None


def is_here(dataset: Dataset, data_root: Path | None, cache: Path) -> bool:
    """Whether the data set can be read without a network."""
    return place(dataset, data_root, cache) is not None


def is_reachable(dataset: Dataset) -> bool:
    """Whether the data set's host answers within three seconds, through the system's proxies if any."""
    return _answers(dataset.url)


@cache
def _answers(url: str) -> bool:
    import urllib.request  # pulls in ssl, too slow for every start

    answered = threading.Event()

    def ask() -> None:
        try:
            request = urllib.request.Request(url, method="HEAD")  # noqa: S310 - the catalog's own
            with urllib.request.build_opener().open(request, timeout=_PROBE_SECONDS):
                answered.set()
        except OSError:
            pass

    # In a thread of its own because looking up a host's name knows no timeout.
    probe = threading.Thread(target=ask, daemon=True)
    probe.start()
    probe.join(_PROBE_SECONDS)
    return answered.is_set()


def resolve(
    names: Iterable[DatasetName], data_root: Path | None, cache: Path, real_only: bool
) -> tuple[list[DatasetName], list[str]]:
    """Replace data sets that cannot be had by their synthetic twins.

    Args:
        names: what was asked for.
        data_root: folder of real data sets; None where there is none.
        cache: folder for downloads.
        real_only: refuse to replace.

    Returns:
        The names, each once, and a line for each that was replaced or will be downloaded.

    Raises:
        UsageError: `real_only` and a data set cannot be had; two files of one name.
    """
    resolved: dict[str, DatasetName] = {}
    notices = []
    for asked in names:
        name = asked
        dataset = asked.published
        if dataset and not asked.synthetic and not is_here(dataset, data_root, cache):
            if is_reachable(dataset):
                notices.append(
                    f"{name.id} will be downloaded, {units.size(dataset.download_bytes)}, to {cache}"
                )
            elif real_only:
                raise UsageError(
                    f"{name.id} is not under the data root and cannot be downloaded; put its files there "
                    f"(--gnn-data), or leave out --gnn-real to use its synthetic twin {name.twin.id}"
                )
            else:
                name = asked.twin
                notices.append(
                    f"{asked.id} is not under the data root and cannot be downloaded: using its synthetic "
                    f"twin {name.id} (--gnn-real to fail instead)"
                )
        other = resolved.setdefault(name.id, name)
        if other.path != name.path:
            raise UsageError(f"{other.path} and {name.path} have the same name: rename one of the files")
    return list(resolved.values()), notices
