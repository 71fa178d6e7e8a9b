"""Files that other processes may use at the same time, the cache folder, and paths that users type."""

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
        UsageError: `GNNBENCH_CACHE` begins with `~NAME`, and there is no user NAME.
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    return user_path(chosen) if chosen else platformdirs.user_cache_path("gnnbench")


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file in one step: a reader sees the old content or the new, never a part.

    The content is flushed to disk before the file gets its name.
    """
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
    """Write a file that a user named. A device or a pipe is written to, not replaced.

    Raises:
        UsageError: the file cannot be written, or is one of the input files in `read`.
    """
    if path.resolve() in {one.resolve() for one in read}:
        raise UsageError(f"{path} is also an input file; choose another output file")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        else:
            write_whole(path, content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror})") from None


def check_writable(path: Path) -> None:
    """Check that a file can be written, before measuring what will go into it.

    Raises:
        UsageError: it is a folder, or its folder is not writable.
    """
    try:
        is_folder = path.is_dir()
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.stem}-"):
            pass
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}): choose another file") from None
    if is_folder:
        raise UsageError(f"{path} cannot be written (it is a folder): choose a file")


@contextmanager
def hold(lock: Path, cache: Path) -> Iterator[None]:
    """Wait for a lock in the cache folder, and hold it while the context lasts.

    Raises:
        UsageError: the cache folder is not writable.
    """
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        held = FileLock(lock).acquire()
    except OSError as error:
        raise UsageError(
            f"the cache folder {cache} cannot be written ({error.strerror}); "
            f"set {CACHE_VARIABLE} to another folder"
        ) from error
    with held:
        yield


def user_path(text: str) -> Path:
    """Return a path that a user typed, with `~` expanded as in a shell.

    Raises:
        UsageError: it begins with `~NAME`, and there is no user NAME.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise UsageError(f"{text}: there is no such home folder; give an absolute path") from None
