"""Baseline records: run files of several processes, by environment, in pytest-benchmark's storage.

The files of a record are `<environment>/<machine>/NNNN_NAME_pK.json`, with process K from 1.
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
from . import record_fingerprints, run_file
from .run_file import RunFile

FOLDER = Path("baselines") / "timings"

_FILE = re.compile(r"(\d{4})_(.+)_p([1-9]\d*)\.json")
_UNFINISHED = ".unfinished-"
_LAST_NUMBER = 9999
"""pytest-benchmark's storage has numbers of four digits."""


@dataclass(frozen=True)
class Record:
    """Several processes of one commit, recorded together."""

    environment: str
    """Name of the environment's folder."""
    machine: str
    """Name of pytest-benchmark's folder in it."""
    number: int
    name: str
    files: tuple[Path, ...]
    """One file per process."""

    @property
    def id(self) -> str:
        """The number as four digits."""
        return f"{self.number:04}"

    def lacks_files(self) -> bool:
        """Tell whether files are missing, because saving was interrupted or files were removed."""
        try:
            run = run_file.read(self.files[0])
        except UsageError:
            return False  # the number of processes is unknown
        return run.record is not None and run.record.get("processes") != len(self.files)

    def read(self) -> list[RunFile]:
        """Return the run files of all processes.

        Raises:
            UsageError: a file cannot be used or is missing.
        """
        runs = record_fingerprints.read(self.files)
        for run in runs:
            if run.record is None:
                raise UsageError(f"{run.path}: not part of a baseline record; remove it")
            count = run.record.get("processes")
            if count != len(runs):
                raise UsageError(
                    f"{run.path}: only {len(runs)} of the {count} files of record {self.id} are there; "
                    "restore the others, or remove the record with gnnbench baseline prune"
                )
        return runs


@dataclass(frozen=True)
class RecordStore:
    """The folder of a project's baseline records."""

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
        """Return an environment's records, the newest first, or only the one with a number.

        Args:
            environment_name: the environment.
            machine: pytest-benchmark's name of this machine.
            number: NNNN; None: all.

        Raises:
            UsageError: no record has this number, or two records do, as after merging branches.
        """
        records = [record for record in self.records(environment_name) if record.machine == machine]
        found = [record for record in records if number is None or record.id == number.zfill(4)]
        for one, next_one in pairwise(found):
            if one.id == next_one.id:
                names = f"{one.name} and {next_one.name}"
                raise UsageError(
                    f"{self.root / environment_name}: two records have number {one.id}: {names}; remove one"
                )
        if number is not None and not found:
            raise UsageError(
                f"no record {number} in {self.root / environment_name}; "
                f"known numbers: {', '.join(record.id for record in records) or 'none'}"
            )
        return found[::-1]

    def nearest(self, here: Mapping[str, Any]) -> tuple[Record, list[tuple[str, Any, Any]]] | None:
        """Return the newest record with the most similar environment, and the fields that differ."""
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
        """Check that a record can be saved, before anything is measured.

        Raises:
            UsageError: the folder cannot be written, or does not support hard links.
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

        All files are written completely before the first gets its name, and no file is ever replaced. If this
        is interrupted between two names, the record is incomplete: each file holds the number of processes,
        so the record is never used.

        A fingerprint that all processes agree on is kept in the first file only; others are dropped.

        Args:
            contents: run files, one per process, as they were read.
            machine: pytest-benchmark's name of this machine.
            name: name of the record; characters that a file's name cannot have are replaced.
            reason: why the record is made.

        Raises:
            UsageError: the folder cannot be written, or all numbers are used.
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
                    raise UsageError(f"{folder}: all numbers are used; run gnnbench baseline prune")
                record_fingerprints.keep_once(contents)
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
        """Return temporary folders of interrupted recordings."""
        return [*self.root.glob(f"{_UNFINISHED}*"), *self.root.glob(f"*/*/{_UNFINISHED}*")]

    def remove(self, record: Record) -> None:
        """Remove a record's files.

        Raises:
            UsageError: a file cannot be removed.
        """
        try:
            for file in record.files:
                file.unlink()
        except OSError as error:
            raise UsageError(f"{error.filename} cannot be removed ({error.strerror})") from None


def _link(staged: Sequence[Path], files: Sequence[Path]) -> None:
    """Give files their names, all or none; unlike renaming, a hard link never replaces a file."""
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
