"""The files that a call writes."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from ..fingerprint import digest

_WRITES = os.O_WRONLY | os.O_RDWR
_LARGEST = 64 << 20
"""Bytes of a file that is read."""
_noted: list[dict[str, None]] = []
"""The paths of the calls that are watched."""


@contextmanager
def watched() -> Iterator[dict[str, None]]:
    """Note the paths of files that are opened for writing, in their order."""
    _listen()
    paths = dict[str, None]()
    _noted.append(paths)
    try:
        yield paths
    finally:
        _noted.remove(paths)


def contents(paths: dict[str, None]) -> dict[str, str]:
    """Return a hash of each file by its place; those that are gone, special or very large are left out."""
    found = {}
    for number, path in enumerate(map(Path, paths), 1):
        if path.is_file() and path.stat().st_size < _LARGEST:
            content = path.read_bytes()
            found[f"file {number} that it writes"] = f"{len(content):,} bytes {digest.of_bytes(content)}"
    return found


@cache
def _listen() -> None:
    """Install an audit hook, which stays."""
    sys.addaudithook(_audited)


def _audited(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _noted:
        path, mode, flags = arguments
        writes = flags & _WRITES if isinstance(flags, int) and flags else set(mode or "") & set("wax+")
        if writes and isinstance(path, str | bytes | os.PathLike):
            for paths in _noted:
                paths[os.path.abspath(os.fsdecode(path))] = None  # noqa: PTH100 - quick, and no links
