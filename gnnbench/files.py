"""Files that others may read or write at the same time; the cache folder; paths as users write them."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs
from filelock import FileLock

from .errors import UsageError

CACHE_VARIABLE = "GNNBENCH_CACHE"


def cache_folder() -> Path:
    """Return the folder for downloads and processed files: `GNNBENCH_CACHE`, or the user's cache folder.

    Raises:
        UsageError: it is below the home of a user who is not known.
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    return user_path(chosen) if chosen else platformdirs.user_cache_path("gnnbench")


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file by another, on the disk before it has its name: no reader ever sees a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def save(path: Path, content: str | bytes, read: Iterable[Path] = ()) -> None:
    """Write the file that a user named; a device or a pipe takes the content, and stays what it is.

    Args:
        path: the file.
        content: of the file.
        read: what the content was made from, none of which is replaced.

    Raises:
        UsageError: it cannot be written, or is one of those.
    """
    if path.resolve() in {one.resolve() for one in read}:
        raise UsageError(f"{path} is one of the files that are read; name another to write")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        else:
            write_whole(path, content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror})") from None


def check_writable(path: Path) -> None:
    """See that a file can be written, before what goes into it is measured.

    Raises:
        UsageError: it is a folder, or no file can be made in its folder.
    """
    try:
        is_folder = path.is_dir()
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.stem}-"):
            pass
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}): name another") from None
    if is_folder:
        raise UsageError(f"{path} cannot be written (it is a folder): name a file")


@contextmanager
def hold(lock: Path, cache: Path) -> Iterator[None]:
    """Hold a lock in the cache folder, once nobody else does.

    Raises:
        UsageError: the cache cannot be written.
    """
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        held = FileLock(lock).acquire()
    except OSError as error:
        raise UsageError(
            f"the cache folder {cache} cannot be written ({error.strerror}); "
            f"name another in the variable {CACHE_VARIABLE}"
        ) from error
    with held:
        yield


def user_path(text: str) -> Path:
    """Return the path that a user means, with `~` as in a shell.

    Raises:
        UsageError: it is below a home that is not known.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise UsageError(f"{text}: there is no such home folder; write the whole path") from None
