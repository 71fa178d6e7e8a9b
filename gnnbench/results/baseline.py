"""Saved timings to compare with: records of several processes, by environment, in pytest-benchmark's storage.

A record is the files `<environment>/<machine>/NNNN_NAME_pK.json`, K from 1 to the number of its processes.
"""

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from filelock import FileLock

from .. import environment
from ..errors import UsageError
from . import run_file
from .run_file import RunFile

FOLDER = Path("baselines") / "timings"

_FILE = re.compile(r"(\d{4})_(.+)_p([1-9]\d*)\.json")
_UNFINISHED = ".unfinished-"
_LAST_NUMBER = 9999
"""pytest-benchmark's storage looks for four digits."""


@dataclass(frozen=True)
class Record:
    """Several processes of one commit, recorded together."""

    environment: str
    """Folder's name."""
    machine: str
    """pytest-benchmark's folder within."""
    number: int
    name: str
    files: tuple[Path, ...]
    """By process."""

    @property
    def id(self) -> str:
        """What selects it: NNNN."""
        return f"{self.number:04}"

    def lacks_files(self) -> bool:
        """Tell whether it was cut short while it was saved, or files of it were removed since."""
        try:
            run = run_file.read(self.files[0])
        except UsageError:
            return False  # which says nothing of how many there should be
        return run.record is not None and run.record.get("processes") != len(self.files)

    def read(self) -> list[RunFile]:
        """Return its processes.

        Raises:
            UsageError: a file cannot be used, or processes are missing.
        """
        runs = [run_file.read(file) for file in self.files]
        for run in runs:
            if run.record is None:
                raise UsageError(f"{run.path}: no part of a baseline; remove it, and record one")
            count = run.record.get("processes")
            if count != len(runs):
                raise UsageError(
                    f"{run.path}: record {self.id} has {count} processes, and {len(runs)} of them are here; "
                    "restore them, or remove the rest with gnnbench baseline prune"
                )
        return runs


@dataclass(frozen=True)
class RecordStore:
    """The folder of a project's saved timings."""

    root: Path
    """`baselines/timings`."""

    def environments(self) -> list[str]:
        """Return the names of the environments that have records."""
        return sorted({record.environment for record in self.records()})

    def records(self, environment_name: str | None = None) -> list[Record]:
        """Return the records, of one environment or of all, the oldest first."""
        groups: dict[tuple[str, str, int, str], dict[int, Path]] = {}
        for file in sorted(self.root.glob(f"{environment_name or '*'}/*/*.json")):
            if match := _FILE.fullmatch(file.name):
                number, name, process = match.groups()
                key = file.parent.parent.name, file.parent.name, int(number), name
                groups.setdefault(key, {})[int(process)] = file
        return [
            Record(*key, tuple(file for _, file in sorted(files.items())))
            for key, files in sorted(groups.items(), key=lambda item: (item[0][0], item[0][2]))
        ]

    def find(self, environment_name: str, machine: str, number: str | None) -> list[Record]:
        """Return an environment's records, the newest first, or the one of that number alone.

        Args:
            environment_name: the environment.
            machine: pytest-benchmark's name of this machine.
            number: NNNN; None: all.

        Raises:
            UsageError: it has not that one, or two of a number, as after merging branches.
        """
        records = [record for record in self.records(environment_name) if record.machine == machine]
        found = [record for record in records if number is None or record.id == number.zfill(4)]
        for one, next_one in pairwise(found):
            if one.id == next_one.id:
                names = f"{one.name} and {next_one.name}"
                raise UsageError(f"{self.root / environment_name}: two records {one.id}, {names}; remove one")
        if number is not None and not found:
            raise UsageError(
                f"no record {number} in {self.root / environment_name}; "
                f"there are {', '.join(record.id for record in records) or 'none'}"
            )
        return found[::-1]

    def nearest(self, here: Mapping[str, Any]) -> tuple[Record, list[tuple[str, Any, Any]]] | None:
        """Return the newest record that differs in the fewest fields of its environment, and the fields."""
        found = []
        for record in self.records():
            try:
                other = run_file.read(record.files[0]).environment
            except UsageError:
                continue
            if other:
                found.append((environment.differences(other, here), record))
        if not found:
            return None
        fields, record = min(found, key=lambda item: (len(item[0]), -item[1].number))
        return record, fields

    def check(self) -> None:
        """Find out whether something can be saved, before anything is measured.

        Raises:
            UsageError: the folder cannot be written, or knows no hard links.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.root, prefix=_UNFINISHED) as folder:
                Path(folder, "one").touch()
                os.link(Path(folder, "one"), Path(folder, "two"))
        except OSError as error:
            raise UsageError(f"{self.root} cannot be written ({error.strerror or error})") from None

    def save(self, contents: Sequence[dict[str, Any]], machine: str, name: str, reason: str) -> Record:
        """Save the run files of several processes as the next record of their environment.

        All files are on the disk before the first has its name, and no file is ever replaced. Where this is
        cut short between two names, the record lacks files, says so of itself, and is never used.

        Args:
            contents: run files, one a process, as they were read.
            machine: pytest-benchmark's name of this machine.
            name: of the record; what cannot stand in a file's name is left out of it.
            reason: why there is a new one.

        Raises:
            UsageError: the folder cannot be written, or has no number left.
        """
        folder = self.root / environment.name(contents[0]["gnnbench"]["environment"]) / machine
        safe = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[:60] or "record"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with (
                FileLock(folder / ".lock"),
                tempfile.TemporaryDirectory(dir=folder, prefix=_UNFINISHED) as temporary,
            ):
                number = max((record.number for record in self.records(folder.parent.name)), default=0) + 1
                if number > _LAST_NUMBER:
                    raise UsageError(f"{folder}: all numbers are used; make room: gnnbench baseline prune")
                staged = []
                for process, content in enumerate(contents, 1):
                    content["gnnbench"]["record"] = {
                        "number": number,
                        "process": process,
                        "processes": len(contents),
                        "reason": reason,
                    }
                    staged.append(Path(temporary, f"{number:04}_{safe}_p{process}.json"))
                    _write(staged[-1], run_file.seal(content))
                files = tuple(folder / file.name for file in staged)
                _link(staged, files)
        except OSError as error:
            raise UsageError(
                f"{folder} cannot be written ({error.strerror or error}); nothing was recorded"
            ) from None
        return Record(folder.parent.name, machine, number, safe, files)

    def left_over(self) -> list[Path]:
        """Return the folders that interrupted recordings left."""
        return [*self.root.glob(f"{_UNFINISHED}*"), *self.root.glob(f"*/*/{_UNFINISHED}*")]

    def remove(self, record: Record) -> None:
        """Remove a record's files.

        Raises:
            UsageError: one of them cannot be removed.
        """
        try:
            for file in record.files:
                file.unlink()
        except OSError as error:
            raise UsageError(f"{error.filename} cannot be removed ({error.strerror})") from None


def _link(staged: Sequence[Path], files: Sequence[Path]) -> None:
    """Give files their names: all or none, and unlike a renaming never over another file."""
    done: list[Path] = []
    try:
        for file, final in zip(staged, files, strict=True):
            os.link(file, final)
            done.append(final)
    except BaseException:
        for final in done:
            final.unlink()
        raise


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
