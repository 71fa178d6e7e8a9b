"""Finds benchmarks that run the same code on both sides, from the manifests that earlier runs saved.

A manifest has the code and the files on which the benchmarks of one side depend.
"""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache as cache_calls
from itertools import permutations
from pathlib import Path
from typing import Any

from ...ground import codec, environment
from ...ground.files import write_whole
from ...measure.fingerprint.fingerprint import METHOD
from ..variants.child import SIDES
from ..variants.collected import NOTHING
from ..variants.variant import Prepared
from .code_tree import CodeTree
from .manifest import VERSION, Manifest, Noted
from .used import environment_folders

_FOLDER = "used"
_MOST = 24
"""Number of manifests that are kept for a suite in an environment: the most recently used ones."""
_INSTALLED = ("site-packages", "dist-packages")
_CACHE = "__pycache__"


class Unchanged:
    """The benchmarks of one comparison that run the same code, as manifests of earlier runs show."""

    def __init__(
        self, base: Prepared, head: Prepared, arguments: Sequence[str], folder: Path, cache: Path | None
    ) -> None:
        self._sides, self._folder = (base, head), folder
        self._file_time = _file_time()
        self._store: Path | None = None
        # If torch differs, so does all code that uses it, and comparing this code takes long.
        torch = {side.versions.get("torch") for side in self._sides}
        if cache is not None and len(torch) == 1 and _variables(base) == _variables(head):
            self._store = cache / _FOLDER / digest(base, arguments, folder)
        self._tree = cache_calls(self._new_tree)

    def known(self) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        """Return the collected suite, and why each unchanged benchmark is skipped. Both may be empty."""
        collected: Mapping[str, Any] = {}
        skipped: dict[str, str] = {}
        with suppress(OSError):
            for file, manifest in _read(self._store) if self._store else ():
                suite = tuple(manifest.collected["places"])
                for tree, other in permutations(self._tree(side, suite) for side in range(len(SIDES))):
                    if collected in ({}, manifest.collected) and manifest.fits(tree):
                        translated = manifest.of_other_side(other, manifest.difference(tree, other))
                        collected, skipped = manifest.collected, {**translated.known, **skipped}
                        os.utime(file)
                        if translated.known and translated != manifest:
                            _save(file.parent, translated)
                        break
        return collected, skipped

    def keep(self, collected: Mapping[str, Mapping[str, Any]], usage: Mapping[str, Sequence[Noted]]) -> None:
        """Save what the processes of both sides have collected and used."""
        for number, side in enumerate(SIDES):
            if self._store and side in usage:
                answer = {key: collected[side][key] for key in NOTHING}
                tree = self._new_tree(number, answer["places"])
                manifest = Manifest.of(answer, usage[side], tree, self._file_time)
                if manifest:
                    _save(self._store, manifest)

    def _new_tree(self, side: int, suite: Sequence[str]) -> CodeTree:
        paths = (self._folder / argument.partition("::")[0] for argument in suite)
        sources = [redirect.source for prepared in self._sides for redirect in prepared.redirects]
        return CodeTree(self._sides[side], self._folder, paths, sources)


def _read(store: Path) -> Iterator[tuple[Path, Manifest]]:
    """Yield the readable manifests in a folder and their files, the most recently used ones first."""
    for file in _by_last_use(store):
        with suppress(OSError, ValueError):
            yield file, codec.decode(json.loads(file.read_bytes()), Manifest)


def _save(store: Path, manifest: Manifest) -> None:
    """Save a manifest, and remove the least recently used ones. Does nothing if the cache is not writable."""
    with suppress(OSError):
        text = codec.as_text(manifest)
        write_whole(store / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json", text)
        for file in _by_last_use(store)[_MOST:]:
            file.unlink(missing_ok=True)


def _by_last_use(store: Path) -> list[Path]:
    return sorted(store.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)


def _file_time() -> float:
    """Return the modification time of a new file as the current time: a suite may replace Python's clock."""
    with tempfile.TemporaryFile() as file:
        return os.fstat(file.fileno()).st_mtime


def _variables(side: Prepared) -> list[tuple[str, str]]:
    """Return those environment variables of a side's processes that may affect the code under test."""
    variables = {**os.environ, **side.environment}.items()
    return sorted((name, value) for name, value in variables if not environment.TRANSIENT.fullmatch(name))


def digest(side: Prepared, arguments: Sequence[str], folder: Path) -> str:
    """Return a hash of all that benchmarks use besides code and suite: Python, installed files, variables."""
    # Installed files are compared by path, size and time; Python, by its executable.
    executable = Path(sys.executable).resolve()
    python = sys.version, sys.flags, str(executable), _state(executable.stat())
    machine = environment.name(environment.collect())
    inputs = VERSION, METHOD, python, machine, list(arguments), str(folder), _variables(side)
    result = hashlib.sha256(repr(inputs).encode("utf-8", "surrogateescape"))
    for root in environment_folders():
        if Path(root).name in _INSTALLED:
            for line in _file_states(root):
                result.update(line.encode("utf-8", "surrogateescape"))
    return result.hexdigest()[:32]


def _file_states(root: str) -> Iterator[str]:
    """Yield a line for each file below a folder, and for each link to a folder."""
    for parent, folders, files in os.walk(root):
        folders[:] = sorted({*folders} - {_CACHE})
        paths = [os.path.join(parent, name) for name in sorted(files)]
        for path in (*paths, *filter(os.path.islink, (os.path.join(parent, name) for name in folders))):
            with suppress(FileNotFoundError):  # a broken link
                yield f"{path} {_state(os.stat(path))}\n"


def _state(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_size, stat.st_mtime_ns
