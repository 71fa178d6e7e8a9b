"""Where a data set's library reads and downloads: in its cache folder, without printing or asking."""

import hashlib
import io
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from ...errors import UsageError
from ...files import hold
from .catalog import Dataset
from .locate import DOWNLOADED

_SILENCE_SECONDS = 60.0
"""A download without data for so long has failed."""


@contextmanager
def workspace(dataset: Dataset, origin: Path | None, cache: Path, answer: str = "n") -> Iterator[Path]:
    """Yield the cache folder of a data set to one process at a time, for its library to read or download.

    The folder is empty unless an earlier use ended without an exception. Downloads and files from the data
    folder (`origin`) have separate folders; so have changed versions of the files. Meanwhile nothing is
    printed, and any question is answered with `answer`.
    """
    complete = cache / dataset.folder / (f"{_fingerprint(origin)}/.complete" if origin else DOWNLOADED)
    folder = complete.parent
    with hold(folder.with_suffix(".lock"), cache):
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        with _tamed(dataset, origin, answer):
            yield folder
        complete.touch()


@contextmanager
def _tamed(dataset: Dataset, origin: Path | None, answer: str) -> Iterator[None]:
    """Let a library work without output; an exception becomes a line that says what to do instead."""
    stdin, timeout = sys.stdin, socket.getdefaulttimeout()
    sys.stdin = io.StringIO(f"{answer}\n" * 9)
    socket.setdefaulttimeout(_SILENCE_SECONDS)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            yield
    except MemoryError:
        raise
    except Exception as error:
        # Any exception of a transport, archive or parser may get here.
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if origin:
            raise UsageError(
                f"{dataset.id}: the files in {origin} cannot be read ({reason}); replace them, or use "
                f"{dataset.id}:synthetic"
            ) from error
        raise UsageError(
            f"{dataset.id}: the download failed ({reason}); use {dataset.id}:synthetic, or put the files "
            "into the data folder (--gnn-data)"
        ) from error
    finally:
        sys.stdin = stdin
        socket.setdefaulttimeout(timeout)


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
