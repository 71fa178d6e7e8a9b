"""The index of a history: the digest of each run file, so that each file is read once.

Each history has an SQLite file in the cache folder, protected by a lock. Digests are saved in batches: an
interrupted command loses at most one batch. A damaged index is rebuilt.
"""

import hashlib
import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ... import __version__, cpu, environment
from ...errors import UsageError
from ...files import CACHE_VARIABLE, hold
from ...measure import estimate
from ...results.parts import READABLE
from ...workloads.operations import FORMER_NAMES
from .digest import PLAIN, Digest

_BATCH = 50
"""Files per batch."""
_WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Refused:
    """A file that cannot be used."""

    path: Path
    reason: str
    """One line that names the file."""


class _DamagedError(Exception):
    """The index cannot be read."""


def digests(
    cache: Path, history: str, paths: Sequence[Path], progress: Callable[[int, int], None]
) -> tuple[dict[Path, Digest], list[Refused]]:
    """Return the digests of run files; read only those that are new or changed.

    Args:
        cache: the cache folder.
        history: name of the history; each has its own index.
        paths: the run files.
        progress: called with the number of files read and to read.

    Raises:
        UsageError: the cache cannot be written.
    """
    file = cache / "trend" / f"{hashlib.sha256(os.fsencode(history)).hexdigest()[:16]}.sqlite"
    with hold(file.with_suffix(".lock"), cache):
        try:
            try:
                return _filled(file, paths, progress)
            except _DamagedError:
                for part in file.parent.glob(f"{file.name}*"):
                    part.unlink()
                return _filled(file, paths, progress)
        except (OSError, sqlite3.Error, _DamagedError) as error:
            raise UsageError(
                f"{file} cannot be used ({error}); remove it, or set {CACHE_VARIABLE} to another cache folder"
            ) from None


def _filled(
    file: Path, paths: Sequence[Path], progress: Callable[[int, int], None]
) -> tuple[dict[Path, Digest], list[Refused]]:
    with closing(sqlite3.connect(file, timeout=_WAIT_SECONDS)) as table:
        try:
            kept = _rows(table)
        except (sqlite3.Error, zlib.error, ValueError, KeyError, TypeError) as error:
            raise _DamagedError(str(error)) from None
        found: dict[Path, Digest] = {}
        refused = []  # not kept: the file may be readable the next time
        new = []
        for path in paths:
            stamp = _stamp(path)
            key = os.fsencode(path)
            if key in kept and kept[key][0] == stamp:
                found[path] = kept.pop(key)[1]
            else:
                new.append((path, stamp))
        with table:
            table.executemany("DELETE FROM files WHERE path = ?", ((path,) for path in kept))
        for number, (path, stamp) in enumerate(new):
            progress(number, len(new))
            try:
                one = Digest.of(path)
            except UsageError as error:
                refused.append(Refused(path, str(error)))
            else:
                found[path] = one
                table.execute("INSERT INTO files VALUES (?, ?, ?)", (os.fsencode(path), stamp, _packed(one)))
            if number % _BATCH == _BATCH - 1:
                table.commit()
        table.commit()
    return {path: found[path] for path in paths if path in found}, refused


def _format() -> str:
    """Return a text that changes when digests of unchanged files would change."""
    rules = (
        READABLE,
        environment.WHERE,
        environment.WHAT,
        cpu.CONTENDED,
        estimate.NAME,
        PLAIN,
        FORMER_NAMES,
    )
    return f"5 {__version__} {rules}"


def _rows(table: sqlite3.Connection) -> dict[bytes, tuple[str, Digest]]:
    """Return stamp and digest by path; an index of another format is emptied."""
    table.execute("CREATE TABLE IF NOT EXISTS format (name TEXT PRIMARY KEY)")
    if table.execute("SELECT name FROM format").fetchall() != [(_format(),)]:
        with table:
            table.execute("DROP TABLE IF EXISTS files")
            table.execute(
                "CREATE TABLE files (path BLOB PRIMARY KEY, stamp TEXT NOT NULL, content BLOB NOT NULL)"
            )
            table.execute("DELETE FROM format")
            table.execute("INSERT INTO format VALUES (?)", (_format(),))
    return {
        path: (stamp, _unpacked(content))
        for path, stamp, content in table.execute("SELECT path, stamp, content FROM files")
    }


def _stamp(path: Path) -> str:
    """Return a text that changes when the file changes: size, mtime and ctime."""
    try:
        state = path.stat()
    except OSError as error:
        return f"unreadable {error.errno}"
    return f"{state.st_size} {state.st_mtime_ns} {state.st_ctime_ns}"


def _packed(one: Digest) -> bytes:
    text = json.dumps(one.as_json())
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)  # with a checksum


def _unpacked(content: bytes) -> Digest:
    return Digest.from_json(json.loads(zlib.decompress(content).decode("utf-8", "surrogatepass")))
