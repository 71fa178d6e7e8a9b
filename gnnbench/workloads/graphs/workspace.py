"""The cache folder of a data set, in which its library keeps raw and processed files."""

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
    """Yield the folder to one process at a time.

    The folder is empty unless an earlier use ended without an exception. Downloads and files from the data
    folder (`origin`) have separate folders; so have changed versions of the files.

    Raises:
        UsageError: the cache is not writable.
    """
    complete = cache / dataset.folder / (f"{_fingerprint(origin)}/.complete" if origin else DOWNLOADED)
    folder = complete.parent
    with hold(folder.with_suffix(".lock"), cache):
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        yield folder
        complete.touch()


def link_files(origin: Path, target: Path) -> None:
    """Link each file under `origin` to the same place under `target`, except processed files.

    It links files, not folders, because ogb renames some in place.
    """
    for file in _files(origin):
        link = target / file.relative_to(origin)
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(file.resolve())


def _fingerprint(origin: Path) -> str:
    """Return a short digest of the files' paths, sizes and modification times."""
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
