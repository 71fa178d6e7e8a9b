"""Finds benchmarks that run the same code on both sides, by the manifests that earlier runs saved."""

import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache as cache_calls
from itertools import permutations
from pathlib import Path
from typing import Any

from ...ground import codec, environment
from ...ground.files import project, write_whole
from ...measure.fingerprint.fingerprint import METHOD
from ..variants.child import SIDES
from ..variants.collected import NOTHING
from ..variants.variant import Prepared
from .code_tree import CodeTree
from .manifest import VERSION, Manifest, Noted
from .used import environment_folders

_FOLDER = "used"
_MOST = 24
"""Number of manifests kept for one suite in one environment: the last used ones."""
_PASSING = re.compile(
    r"_|OLDPWD|SHLVL|TERM(_PROGRAM)?|COLUMNS|LINES|DISPLAY|WINDOWID|TMUX|STY|INVOCATION_ID|JOURNAL_STREAM"
    r"|XDG_(RUNTIME_DIR|SEAT|VTNR|SESSION_.*)|PYTEST_(CURRENT_TEST|VERSION)"
    r"|(ACTIONS|DBUS|GITHUB|RUNNER|SSH|VSCODE)_.*"
)
"""Variables of the terminal, the login and the job, which differ between runs of the same code."""
_INSTALLED = ("site-packages", "dist-packages")
_CACHE = "__pycache__"


class Unchanged:
    """What earlier runs used, for one comparison."""

    def __init__(
        self, base: Prepared, head: Prepared, arguments: Sequence[str], folder: Path, cache: Path | None
    ) -> None:
        self._sides, self._folder = (base, head), folder
        self._file_time = _file_time()
        self._store: Path | None = None
        # With another torch, all code that uses it differs, and comparing it takes long.
        torch = {side.versions.get("torch") for side in self._sides}
        if cache is not None and len(torch) == 1 and _variables(base) == _variables(head):
            self._store = cache / _FOLDER / digest(base, arguments, folder)
        self._tree = cache_calls(self._new_tree)

    def known(self) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        """Return what a process collected, and the benchmarks that run the same code on both sides.

        A benchmark's value is why both sides skip it; empty if they do not. Both are empty if none is known.
        """
        collected: Mapping[str, Any] = {}
        skipped: dict[str, str] = {}
        with suppress(OSError):
            for file, manifest in _read(self._store) if self._store else ():
                places = tuple(manifest.collected["places"])
                for tree, other in permutations(self._tree(side, places) for side in range(len(SIDES))):
                    if collected in ({}, manifest.collected) and manifest.fits(tree):
                        translated = manifest.of_other(other, manifest.difference(tree, other))
                        collected, skipped = manifest.collected, {**translated.known, **skipped}
                        os.utime(file)
                        if translated.known and translated != manifest:
                            _save(file.parent, translated)
                        break
        return collected, skipped

    def keep(self, collected: Mapping[str, Mapping[str, Any]], usage: Mapping[str, Sequence[Noted]]) -> None:
        """Save what both sides have collected and used, by side."""
        for number, side in enumerate(SIDES):
            if self._store and side in usage:
                suite = {key: collected[side][key] for key in NOTHING}
                tree = self._new_tree(number, suite["places"])
                manifest = Manifest.of(suite, usage[side], tree, project(self._folder), self._file_time)
                if manifest:
                    _save(self._store, manifest)

    def _new_tree(self, side: int, places: Sequence[str]) -> CodeTree:
        suite = (self._folder / place.partition("::")[0] for place in places)
        sources = [redirect.source for prepared in self._sides for redirect in prepared.redirects]
        return CodeTree(self._sides[side], self._folder, suite, sources)


def _read(store: Path) -> Iterator[tuple[Path, Manifest]]:
    """Yield the manifests in a folder, the last used ones first, and skip unreadable files."""
    for file in _newest_first(store):
        with suppress(OSError, ValueError):
            yield file, codec.decode(json.loads(file.read_bytes()), Manifest)


def _save(store: Path, manifest: Manifest) -> None:
    """Save a manifest, and remove the oldest; without a writable cache, the next run knows less."""
    with suppress(OSError):
        text = codec.as_text(manifest)
        write_whole(store / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json", text)
        for file in _newest_first(store)[_MOST:]:
            file.unlink(missing_ok=True)


def _newest_first(store: Path) -> list[Path]:
    return sorted(store.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)


def _file_time() -> float:
    """Return the modification time of a new file, which is right even if a suite has stopped the clocks."""
    with tempfile.TemporaryFile() as file:
        return os.fstat(file.fileno()).st_mtime


def _variables(side: Prepared) -> list[tuple[str, str]]:
    """Return the environment variables of a side's processes on which code may depend."""
    return sorted(
        (name, value)
        for name, value in {**os.environ, **side.environment}.items()
        if not _PASSING.fullmatch(name)
    )


def digest(side: Prepared, arguments: Sequence[str], folder: Path) -> str:
    """Return a hash of everything but the code under test on which a side's code may depend.

    Installed packages count by the path, size and time of each file, and Python by its executable's.
    """
    executable = Path(sys.executable).resolve()
    python = sys.version, sys.flags, str(executable), _state(executable.stat())
    machine = environment.name(environment.collect())
    inputs = VERSION, METHOD, python, machine, list(arguments), str(folder), _variables(side)
    hashed = hashlib.sha256(repr(inputs).encode("utf-8", "surrogateescape"))
    for place in environment_folders():
        if Path(place).name in _INSTALLED:
            for line in _files(place):
                hashed.update(line.encode("utf-8", "surrogateescape"))
    return hashed.hexdigest()[:32]


def _files(folder: str) -> Iterator[str]:
    """Yield a line for each file in a folder, and in those below it, and for links to folders."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted({*folders} - {_CACHE})
        paths = [os.path.join(parent, name) for name in sorted(files)]
        for path in (*paths, *filter(os.path.islink, (os.path.join(parent, name) for name in folders))):
            with suppress(FileNotFoundError):  # a link to nothing
                yield f"{path} {_state(os.stat(path))}\n"


def _state(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_size, stat.st_mtime_ns
