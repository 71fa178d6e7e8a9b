"""The saved state of an unfinished bisection: its pairs, so that the same command continues."""

import hashlib
import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from ...ground import codec
from ...ground.errors import UsageError
from ...ground.files import CACHE_VARIABLE, read_whole, write_whole
from ...process.variants.builds import Build
from ...process.variants.collected import SETTINGS
from ..coordinator import TimedSetting
from .followed import Measured
from .line import Line

FORMAT_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class BisectSetting(TimedSetting):
    """How to bisect: `per_benchmark_seconds` is the time to compare the ends."""

    cache: Path
    total_seconds: float = math.inf
    """For everything together."""
    dependencies: bool = False
    """Whether to install the dependencies of pip: requirements too."""
    build: Build | None = None
    """How to build commits; None: they are not built."""
    hunks: bool = True
    """Whether to search the hunks of a commit that was found."""
    fresh: bool = False
    """Whether to forget an earlier, unfinished run."""


def key(line: Line, setting: BisectSetting) -> str:
    """Return the name of a state: a hash of all that the measurements depend on.

    The files that pytest's arguments name, or that are in folders that they name, count by content.
    """
    thresholds, arguments, folder = setting.thresholds, setting.arguments, setting.folder
    what = [
        *(one.variant for one in line.candidates),
        str(thresholds.effect),
        *(str(rule.as_json()) for rule in thresholds.rules.rules),
        str(setting.per_benchmark_seconds),
        str(setting.dependencies),
        setting.build.command if setting.build else "",
    ]
    whole = hashlib.sha256(
        repr((FORMAT_VERSION, what, list(arguments), str(folder), sys.version, sys.prefix)).encode()
    )
    for file in sorted(_suite(arguments, folder)):
        whole.update(f"{file.relative_to(folder) if file.is_relative_to(folder) else file}\0".encode())
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()[:24]


def _suite(arguments: Sequence[str], folder: Path) -> set[Path]:
    """Return the files that define the benchmarks, as far as the arguments name them."""
    found = {folder / name for name in SETTINGS}
    for word in arguments:
        path = folder / word.partition("::")[0]
        if word.startswith("-") or "\0" in word or len(word) > 4096:  # noqa: PLR2004 - no path is longer
            continue
        if path.is_dir():
            found.update(path.rglob("*.py"))
        elif path.suffix == ".py":
            found.update((path, path.parent / "conftest.py"))
    return {file for file in found if file.is_file()}


@dataclass(frozen=True)
class _Saved:
    seed: int
    names: list[str]
    notes: list[str]
    measured: list[Measured]


@dataclass
class Journal:
    """A file with the pairs so far, which is held by one run at a time."""

    path: Path
    """The file; it need not exist."""
    seed: int
    """Seeds the order of sides and benchmarks."""
    names: list[str] = field(default_factory=list)
    """The benchmarks, in the order of collection."""
    notes: list[str] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)
    """The pairs, in the order of measurement."""

    @classmethod
    @contextmanager
    def held(cls, folder: Path, name: str, seed: int, *, fresh: bool) -> Iterator[Self]:
        """Open the state of that name, and keep other runs from it."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(folder / f"{name}.lock")
            lock.acquire(timeout=0)
        except Timeout:
            raise UsageError("the same bisection runs already: wait for it, or end it") from None
        except OSError as error:
            raise _unwritable(folder, error) from None
        with lock:
            made = cls(folder / f"{name}.json", seed)
            if not fresh:
                made.read()
            yield made

    def read(self) -> None:
        """Read the file; one that is missing or damaged counts as empty."""
        with suppress(OSError, ValueError):
            saved = codec.decode(json.loads(read_whole(self.path)), _Saved)
            self.seed, self.names = saved.seed, saved.names
            self.notes, self.measured = saved.notes, saved.measured

    def add(self, one: Measured) -> None:
        """Add a pair and save."""
        self.measured.append(one)
        saved = _Saved(self.seed, self.names, self.notes, self.measured)
        try:
            write_whole(self.path, json.dumps(codec.encode(saved)))
        except OSError as error:
            raise _unwritable(self.path.parent, error) from None

    def forget(self) -> None:
        """Remove the file: the bisection is finished."""
        self.path.unlink(missing_ok=True)


def _unwritable(folder: Path, error: OSError) -> UsageError:
    return UsageError(
        f"the cache folder {folder} cannot be written ({error.strerror or error}); what was saved stays; "
        f"free space, or set {CACHE_VARIABLE} to another folder"
    )
