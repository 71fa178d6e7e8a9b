"""Reads and writes files that other processes may change; finds the cache folder, and reads typed paths."""

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

import platformdirs

from .errors import UsageError

CACHE_VARIABLE = "GNNBENCH_CACHE"
_SCRATCH = "gnnbench-run-"
_LEAST_BYTES = 2**16
"""A file system with less free space counts as full."""


def cache_folder() -> Path:
    """Return the folder for downloads and processed files: `GNNBENCH_CACHE`, or the user's cache folder."""
    text = os.environ.get(CACHE_VARIABLE)
    return user_path(text) if text else platformdirs.user_cache_path("gnnbench")


def above(folder: Path) -> list[Path]:
    """Return a folder and its parents up to the top of its repository; without one, only the folder."""
    folder = folder.resolve()
    folders = [folder, *folder.parents]
    index = next((number for number, parent in enumerate(folders) if (parent / ".git").exists()), 0)
    return folders[: index + 1]


def project(folder: Path) -> Path:
    """Return the project of a folder: the folder itself or its nearest parent that has a pyproject.toml.

    setup.py or setup.cfg count, too. Without any of them, it is the top of the repository, or the folder.
    """
    folders = above(folder)
    projects = (parent for parent in folders if any((parent / name).is_file() for name in _PACKAGING))
    return next(projects, folders[-1])


_PACKAGING = ("pyproject.toml", "setup.py", "setup.cfg")


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file in one step: a reader sees the old content or the new, never a part.

    The content is flushed to disk before the file gets its name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_encoded(content))
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def save(path: Path, content: str | bytes, read: Iterable[Path] = ()) -> None:
    """Write a file that a user named, or into a device or pipe. Refuse one of the input files, `read`."""
    _check_is_no_input(path, read)
    with _writing(path):
        if path.exists() and not path.is_file():
            path.write_bytes(_encoded(content))
        else:
            write_whole(real_path(path), content)  # a link, such as /dev/stdout, stays one


def _encoded(content: str | bytes) -> bytes:
    """Return content in UTF-8. `?` replaces a byte of the command line that is not UTF-8."""
    return content if isinstance(content, bytes) else content.encode(errors="replace")


def _check_is_no_input(path: Path, read: Iterable[Path]) -> None:
    if real_path(path) in map(real_path, read):
        raise UsageError(f"{path} is also an input file; choose another output file")


def check_writable(path: Path, read: Iterable[Path] = ()) -> None:
    """Check that a file can be written, before anything is measured for it."""
    _check_is_no_input(path, read)
    with _writing(path, ": choose another file"):
        if path.is_char_device() or path.is_fifo():
            return
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        tempfile.NamedTemporaryFile(dir=real_path(path).parent, prefix=f".{path.stem}-").close()


def check_folder(folder: Path) -> None:
    """Make a folder, and check that it can be written, before anything is measured for it."""
    with _writing(f"the folder {folder}", "; make it writable, or choose another"):
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()


@contextmanager
def _writing(what: Path | str, remedy: str = "") -> Iterator[None]:
    """Raise UsageError if the block cannot write a file or folder."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{what} cannot be written ({error.strerror or error}){remedy}") from error


def writing(cache: Path) -> AbstractContextManager[None]:
    """Raise UsageError if the block cannot write into the cache folder."""
    return _writing(f"the cache folder {cache}", f"; set {CACHE_VARIABLE} to another folder")


@contextmanager
def hold(lock: Path, cache: Path) -> Iterator[None]:
    """Wait for a lock file, and hold it while the context lasts. Its folder must never be removed."""
    with ExitStack() as stack:
        with writing(cache):
            lock.parent.mkdir(parents=True, exist_ok=True)
            lock.open("ab").close()
            stack.enter_context(locked(lock, fcntl.LOCK_EX))
        yield


@contextmanager
def locked(path: Path, how: int) -> Iterator[None]:
    """Lock a file or folder, not a link to one, by `fcntl`; the system releases it when this process ends.

    Raises:
        OSError: there is no such path, its file system has no locks, or another process holds it.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """Make a folder, and wait until no other process is in this context, if the file system has locks."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        with suppress(OSError):
            stack.enter_context(locked(folder, fcntl.LOCK_EX))
        yield


@contextmanager
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield a locked folder that exists while the context lasts; also remove the folders of killed runs.

    Unlike a process id, a lock is unambiguous across containers and machines.
    """
    for leftover in parent.glob(f"{prefix}*"):
        with suppress(OSError), locked(leftover, fcntl.LOCK_EX | fcntl.LOCK_NB):
            if leftover.stat().st_uid == os.getuid():
                shutil.rmtree(leftover)
    with ExitStack() as stack:
        while True:
            temporary = tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(temporary))
            with suppress(OSError):
                stack.enter_context(locked(folder, fcntl.LOCK_EX))
            if folder.exists():  # otherwise another run locked it first, and removed it
                break
        yield folder


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a locked folder, in the system's temporary folder, that exists while the context lasts."""
    parent = Path(tempfile.gettempdir())
    try:
        with temporary_folder(parent, _SCRATCH) as folder:
            yield folder
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise no_room(parent, os.strerror(error.errno)) from None
        raise


def check_room(folder: Path) -> None:
    """Raise UsageError if a scratch folder is full, which may explain a failure."""
    if shutil.disk_usage(folder).free < _LEAST_BYTES:
        raise no_room(folder.parent, os.strerror(errno.ENOSPC))


def no_room(folder: Path, reason: str) -> UsageError:
    """Return the error for a temporary folder that is full."""
    return UsageError(f"the temporary folder {folder} cannot be written ({reason}); set TMPDIR to another")


def remove(path: Path) -> None:
    """Remove a folder with its content, or a symbolic link without its target."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def real_path(path: Path) -> Path:
    """Return a path without symbolic links. Unlike `Path.resolve`, this accepts a loop of links."""
    return Path(os.path.realpath(path))


def distinct(paths: Iterable[Path]) -> list[Path]:
    """Return the real paths of run files. Raises UsageError if a file is named twice."""
    real_paths = list(map(real_path, paths))
    if duplicate := next((path for path in real_paths if real_paths.count(path) > 1), None):
        raise UsageError(f"{duplicate} is named twice; name each run file once")
    return real_paths


def shown(path: Path) -> Path:
    """Return a path relative to the current folder if it is inside, and unchanged otherwise."""
    current = Path.cwd()
    return path.relative_to(current) if path.is_relative_to(current) else path


def user_path(text: str) -> Path:
    """Return a path that a user typed, with `~` expanded as in a shell."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise UsageError(f"{text}: there is no such home folder; give an absolute path") from None
