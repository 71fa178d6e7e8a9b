"""Finds benchmarks that run the same code on both sides, from what earlier runs used, and keeps that."""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache as cache_calls
from itertools import permutations
from pathlib import Path
from typing import Any

from ...ground import codec, environment
from ...ground.files import project, write_whole
from ...measure.fingerprint.fingerprint import METHOD
from ..variants.child import SIDES
from ..variants.variant import Prepared
from .code_tree import CodeTree
from .manifest import VERSION, Manifest
from .manifest_builder import ManifestBuilder
from .used import environment_folders

_FOLDER = "used"
_MOST = 24
"""Manifests that are kept of one suite in one environment; the last used ones."""
_PASSING = (
    *("_", "OLDPWD", "SHLVL", "TERM", "TERM_PROGRAM", "COLUMNS", "LINES", "DISPLAY", "WINDOWID"),
    *("TMUX", "STY", "XDG_RUNTIME_DIR", "XDG_SEAT", "XDG_VTNR"),
    *("INVOCATION_ID", "JOURNAL_STREAM", "PYTEST_CURRENT_TEST", "PYTEST_VERSION"),
)
_PASSING_PREFIXES = ("ACTIONS_", "DBUS_", "GITHUB_", "RUNNER_", "SSH_", "VSCODE_", "XDG_SESSION_")
"""Variables of the terminal, the login and the job, which differ between runs of the same code."""
_INSTALLED = ("site-packages", "dist-packages")
_MADE = "__pycache__"


@dataclass(frozen=True)
class Known:
    """What is known without a process."""

    collected: Mapping[str, Any]
    """What a process said of the suite, see `collected.NOTHING`; empty: nothing is known."""
    skipped: Mapping[str, str]
    """The benchmarks that run the same code: why both sides skip each; empty: they do not."""


class Unchanged:
    """What earlier runs used, for one comparison."""

    def __init__(
        self, base: Prepared, head: Prepared, arguments: Sequence[str], folder: Path, cache: Path | None
    ) -> None:
        self._sides, self._folder = (base, head), folder
        self._file_time = _file_time()
        self._store: Path | None = None
        # With another torch nothing that uses it is the same, and to find that out takes long.
        torch = {side.versions.get("torch") for side in self._sides}
        if cache is not None and len(torch) == 1 and _variables(base) == _variables(head):
            self._store = cache / _FOLDER / digest(base, arguments, folder)
        self._tree = cache_calls(self._new_tree)
        self._records: dict[str, ManifestBuilder] = {}

    def known(self) -> Known:
        """Return the benchmarks that run the same code on both sides; none if a file cannot be read."""
        try:
            return self._known()
        except OSError:
            return Known({}, {})

    def _known(self) -> Known:
        collected: Mapping[str, Any] = {}
        skipped: dict[str, str] = {}
        if self._store is None:
            return Known(collected, skipped)
        for file, manifest in _read(self._store):
            if collected and manifest.collected != collected:
                continue
            places = tuple(manifest.collected["places"])
            for here, there in permutations(self._tree(side, places) for side in range(len(SIDES))):
                if not manifest.fits(here):
                    continue
                differing = manifest.difference(here, there)
                other = manifest.of_other(there, differing)
                collected = manifest.collected
                skipped = {**other.known, **skipped}
                with suppress(OSError):
                    os.utime(file)
                if other.known and other != manifest:
                    _save(self._store, other)
                break
        return Known(collected, skipped)

    def begin(self, collected: Mapping[str, Mapping[str, Any]]) -> None:
        """Take what the processes of both sides have collected, and used for it, if they note that."""
        for number, side in enumerate(SIDES):
            if self._store is None or "used" not in collected[side]:
                continue
            tree, root = self._new_tree(number, collected[side]["places"]), project(self._folder)
            builder = ManifestBuilder(collected[side], tree, root, self._file_time)
            builder.add("", collected[side]["used"])
            self._records[side] = builder

    def add(self, side: str, name: str, used: Mapping[str, Any], skipped: str = "") -> None:
        """Take what a process used for a benchmark, see `ManifestBuilder.add`."""
        if side in self._records:
            self._records[side].add(name, used, skipped)

    def keep(self) -> None:
        """Save what both sides used."""
        for record in self._records.values():
            if self._store and (manifest := record.manifest()):
                _save(self._store, manifest)
        self._records.clear()

    def _new_tree(self, side: int, places: Sequence[str]) -> CodeTree:
        suite = (self._folder / place.partition("::")[0] for place in places)
        sources = [place.source for given in self._sides for place in given.places]
        return CodeTree(self._sides[side], self._folder, suite, sources)


def _read(store: Path) -> list[tuple[Path, Manifest]]:
    """Return the manifests in a folder, the last used ones first; what cannot be read is left out."""
    manifests = []
    for file in _newest_first(store):
        with suppress(OSError, ValueError):
            manifests.append((file, codec.decode(json.loads(file.read_bytes()), Manifest)))
    return manifests


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
    """Return the time that a file gets that is written now, also where a suite has stopped the clocks."""
    with tempfile.TemporaryFile() as file:
        return os.fstat(file.fileno()).st_mtime


def _variables(given: Prepared) -> list[tuple[str, str]]:
    """Return the environment variables of a side's processes on which code may depend."""
    return sorted(
        (name, value)
        for name, value in {**os.environ, **given.environment}.items()
        if name not in _PASSING and not name.startswith(_PASSING_PREFIXES)
    )


def digest(given: Prepared, arguments: Sequence[str], folder: Path) -> str:
    """Return a hash of all that is not code under test, and that a side's code may depend on.

    Of installed packages, the place, size and time of each file count; of Python, its executable's.
    """
    executable = Path(sys.executable).resolve()
    python = sys.version, sys.flags, str(executable), _state(executable.stat())
    machine = environment.name(environment.collect())
    what = VERSION, METHOD, python, machine, list(arguments), str(folder), _variables(given)
    hashed = hashlib.sha256(repr(what).encode("utf-8", "surrogateescape"))
    for place in environment_folders():
        if Path(place).name in _INSTALLED:
            for line in _files(place):
                hashed.update(line.encode("utf-8", "surrogateescape"))
    return hashed.hexdigest()[:32]


def _files(folder: str) -> Iterator[str]:
    """Yield a line for each file in a folder, and in those below it."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name != _MADE:
                yield from _files(entry.path)
        elif not entry.is_symlink() or os.path.exists(entry.path):
            yield f"{entry.path} {_state(entry.stat())}\n"


def _state(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_size, stat.st_mtime_ns
