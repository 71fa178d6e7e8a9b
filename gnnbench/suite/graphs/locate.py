"""Finds a data set's files: in the data folder, in the cache, or on the network."""

import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from ...engine.ground import units
from ...engine.ground.errors import UsageError
from ...engine.ground.files import hold, user_path
from .catalog import Dataset, DatasetName

DATA_VARIABLE = "GNNBENCH_DATA"
_DOWNLOADS = "data"
"""Folder of downloads in the cache, with the layout of a data folder."""
_SILENCE_SECONDS = 60.0
"""A download without data for so long has failed."""
_PROBE_SECONDS = 3.0
_PLANETOID_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
ENTITIES_FILES = ("aifb_stripped.nt.gz", "trainingSet.tsv", "testSet.tsv")
"""Triples; people and their groups, to train on and to test on."""
_OGB_FILES = ("edge.csv.gz", "triplet-type-list.csv.gz")
"""One of them is in the raw folder: of a table, or of several relations."""


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


def raw_folder(dataset: Dataset, root: Path | None) -> Path | None:
    """Return the folder of the data set's files below a data folder; None if any is missing.

    The layout is that of the libraries: `Planetoid/Cora/raw` with its eight files, `Entities/aifb/raw` with
    three files, or `ogbn_arxiv` with `raw` and `split`, directly in the data folder or in its `ogb`.
    """
    if root is None:
        return None
    usual = root / dataset.folder
    if names := _files(dataset):
        return usual if all((usual / name).is_file() for name in names) else None
    places = ((folder, folder / "raw" / name) for folder in (usual, root / usual.name) for name in _OGB_FILES)
    return next((folder for folder, raw in places if (folder / "split").is_dir() and raw.is_file()), None)


def _files(dataset: Dataset) -> Sequence[str]:
    """Return the names of the files that must be in the folder; those of ogb differ."""
    if dataset.family == "planetoid":
        return [f"ind.{dataset.id}.{part}" for part in _PLANETOID_PARTS]
    return ENTITIES_FILES if dataset.family == "entities" else ()


def place(dataset: Dataset, data_root: Path | None, cache: Path) -> str | None:
    """Return where the data set is on this machine: `data root` or `cache`; None if it must be downloaded."""
    if raw_folder(dataset, data_root):
        return "data root"
    return "cache" if raw_folder(dataset, cache / _DOWNLOADS) else None


def fetch(dataset: Dataset, data_root: Path | None, cache: Path) -> Path:
    """Return the folder of the data set's files, which are downloaded to the cache if they are nowhere."""
    if folder := raw_folder(dataset, data_root):
        return folder
    root = cache / _DOWNLOADS
    with hold(root / f"{dataset.title}.lock", cache):
        if folder := raw_folder(dataset, root):
            return folder
        try:
            with tempfile.TemporaryDirectory(dir=root) as temporary:
                _download(dataset, Path(temporary), root / dataset.folder)
        except Exception as error:  # of a transport or an archive
            raise UsageError(
                f"{dataset.id}: the download failed ({reason(error)}); use {dataset.id}:synthetic, or put "
                "the files into the data folder (--gnn-data)"
            ) from error
    return root / dataset.folder


def _download(dataset: Dataset, temporary: Path, target: Path) -> None:
    files = temporary / "files"
    files.mkdir()
    if dataset.family == "planetoid":
        folder = dataset.url.rpartition("/")[0]
        for name in _files(dataset):
            _copy(f"{folder}/{name}", files / name)
    else:
        archive = temporary / Path(dataset.url).name
        _copy(dataset.url, archive)
        shutil.unpack_archive(archive, files)
        if dataset.family != "entities":
            files /= archive.stem
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    files.rename(target)


def _copy(url: str, file: Path) -> None:
    from urllib.request import urlopen  # imports ssl, which is slow

    with urlopen(url, timeout=_SILENCE_SECONDS) as response, file.open("wb") as copy:  # noqa: S310 - a constant
        shutil.copyfileobj(response, copy)


def reason(error: Exception) -> str:
    """Return the first line of an exception's message, or its type."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


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
    """Return the names without duplicates, and a line for each that was replaced or will be downloaded.

    Unavailable data sets are replaced by their synthetic stand-ins; `real_only`: raise an error instead.
    """
    resolved: dict[str, DatasetName] = {}
    notices = []
    for asked in names:
        name, dataset = asked, asked.dataset
        if not (asked.synthetic or asked.path or place(dataset, data_root, cache)):
            absent = f"{asked.id} is not in the data folder and cannot be downloaded"
            twin = f"its synthetic stand-in {asked.id}:synthetic"
            if is_reachable(dataset.url):
                size = units.size(dataset.download_bytes)
                notices.append(f"{asked.id} will be downloaded ({size}) to {cache}")
            elif real_only:
                raise UsageError(
                    f"{absent}; put its files there (--gnn-data), or omit --gnn-real to use {twin}"
                )
            else:
                name = DatasetName.parse(f"{asked.id}:synthetic")
                notices.append(f"{absent}: using {twin} (--gnn-real to fail instead)")
        other = resolved.setdefault(name.id, name)
        if other.path != name.path:
            raise UsageError(f"{other.path} and {name.path} have the same name: rename one of the files")
    return list(resolved.values()), notices
