"""The cache's folder for one data set, in which its library keeps raw and processed files."""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...files import hold
from .catalog import Dataset
from .locate import DOWNLOADED


@contextmanager
def workspace(dataset: Dataset, origin: Path | None, cache: Path) -> Iterator[Path]:
    """Lend the folder to one process at a time.

    It is empty unless an earlier borrower came to its end without an exception. What is downloaded and what
    comes from the data root have folders of their own, and so have changed files under the same root.

    Args:
        dataset: whose folder.
        origin: the data set's folder under the data root, which is only read; None to download.
        cache: folder of all data sets.

    Yields:
        The folder.

    Raises:
        UsageError: the cache cannot be written.
    """
    complete = cache / dataset.id / (f"{_fingerprint(origin)}/.complete" if origin else DOWNLOADED)
    folder = complete.parent
    with hold(folder.with_suffix(".lock"), cache):
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        yield folder
        complete.touch()


def link_files(origin: Path, target: Path) -> None:
    """Link each file under `origin` at the same place under `target`, but for what a library processed.

    Files, not folders, because ogb renames some where they are.
    """
    for file in _files(origin):
        link = target / file.relative_to(origin)
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(file.resolve())


def _fingerprint(origin: Path) -> str:
    """Short digest of where the files are, how long and how old."""
    digest = hashlib.sha256()
    for file in _files(origin):
        status = file.stat()
        digest.update(f"{file.resolve()} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _files(folder: Path) -> list[Path]:
    return sorted(
        file
        for file in folder.rglob("*")
        if file.is_file() and "processed" not in file.relative_to(folder).parts
    )
