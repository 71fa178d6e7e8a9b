"""Folders of the cache that are filled once: builds and installations, up to a total size."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ...ground import units
from ...ground.cpu import RealTime
from ...ground.files import hold, locked
from ...interfaces import Listener

_BYTES = "bytes"
"""File with the size of a filled folder in bytes; its modification time is that of the last use."""


@contextmanager
def stored(
    folder: Path, most_bytes: int, fill: Callable[[], None], listener: Listener, done: str
) -> Iterator[None]:
    """Fill a folder, unless an earlier run has filled it, and keep it from removal while the context lasts.

    `fill` makes folders in this folder. `done`: what the listener is told afterwards, such as `built
    git:main`. If the folder and its siblings exceed `most_bytes`, the least recently used ones are removed.

    Raises:
        OSError: the cache is full.
    """
    store, size = folder.parent, folder / _BYTES
    with ExitStack() as use:
        with hold(store / ".lock", store.parent):
            folder.mkdir(exist_ok=True)
            use.enter_context(locked(folder, fcntl.LOCK_SH))
        with hold(store / f".{folder.name}.lock", store.parent):
            if not size.exists():
                _empty(folder)  # a run that was killed may have left files
                start = RealTime.seconds()
                try:
                    fill()
                except BaseException:
                    _empty(folder)
                    raise
                size.write_text(str(sum(file.lstat().st_size for file in folder.rglob("*"))))
                duration = units.duration(RealTime.seconds() - start)
                listener.say(f"{done} in {duration}, which is not part of the time budget")
        os.utime(size)
        with hold(store / ".lock", store.parent):
            _clear(store, most_bytes, listener)
        yield


def _empty(folder: Path) -> None:
    for inner in folder.iterdir():
        shutil.rmtree(inner, ignore_errors=True)


def _clear(store: Path, room_bytes: int, listener: Listener) -> None:
    """Remove the unfinished and the least recently used folders of a store that is locked."""
    entries = []
    for folder in store.glob("[!.]*/"):
        size = folder / _BYTES
        try:
            entries.append((size.stat().st_mtime, int(size.read_text()), folder))
        except (OSError, ValueError):  # the folder is unfinished
            entries.append((-1.0, 0, folder))
    for used_at, size_bytes, folder in sorted(entries, reverse=True):
        room_bytes -= size_bytes
        if room_bytes < 0 or used_at < 0:
            with suppress(BlockingIOError), locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
                room_bytes += size_bytes
                try:
                    (folder / _BYTES).unlink(missing_ok=True)
                    shutil.rmtree(folder)
                except OSError as error:
                    listener.say(f"{folder} cannot be removed ({error.strerror}); the next run tries again")
