"""Baseline records: run files of several processes, by environment, in pytest-benchmark's storage.

The files of a record are `<environment>/<machine>/NNNN_NAME_pK.json`, with process K from 1.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..ground import environment
from ..ground.errors import UsageError
from ..ground.files import next_number, write_whole
from . import run_file
from .run_file import RunFile

FOLDER = Path("baselines") / "timings"

_FILE = re.compile(r"(\d{4})_(.+)_p([1-9]\d*)\.json")
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

    def read(self) -> list[RunFile]:
        """Return the run files of all processes."""
        runs = run_file.read_all(self.files)
        for run in runs:
            if run.part.record is None:
                raise UsageError(f"{run.path}: not part of a baseline record; remove it")
            count = run.part.record.processes
            if count != len(runs):
                raise UsageError(
                    f"{run.path}: only {len(runs)} of the {count} files of record {self.id} are there; "
                    "restore the others, or remove those that are left"
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

    def find(self, here: Mapping[str, Any], number: str | None = None) -> list[Record]:
        """Return the records of this machine, of any versions, the newest first.

        Those with the same settings; if there are none, those with other numbers of threads or another
        wait policy, with whose times nothing can be compared.

        Only those with this number, NNNN, or with this text in their path, if one is given.
        """
        found = self._named(self._of_machine(here), number)
        if not found:
            records = self._of_machine(here, environment.MACHINE)
            found = self._named(records, number)
        if number is None:
            return found
        if len(found) > 1:
            paths = " and ".join(str(one.files[0].relative_to(self.root)) for one in found[:2])
            raise UsageError(
                f"{self.root}: {number!r} names {len(found)} records: {paths}; give more of one path, or "
                "remove a record"
            )
        if not found:
            known = ", ".join(record.id for record in records[::-1]) or "none"
            raise UsageError(f"no record {number} of this machine in {self.root}; known numbers: {known}")
        return found

    def _named(self, records: list[Record], number: str | None) -> list[Record]:
        """Return the records with this number, or with this text in their path; None: all."""
        if number is None:
            return records
        if number.isdecimal():
            return [one for one in records if one.id == number.zfill(4)]
        return [one for one in records if number in str(one.files[0].relative_to(self.root))]

    def _of_machine(self, here: Mapping[str, Any], fields: Sequence[str] = environment.WHERE) -> list[Record]:
        """Return the records whose environment has the same fields, the newest first.

        The first readable file of a folder tells the machine. If records have equal numbers, the files' dates
        tell which is newer.
        """
        folders: dict[str, list[Record]] = {}
        for record in self.records():
            folders.setdefault(record.environment, []).append(record)
        found = [
            records
            for name, records in folders.items()
            if name == environment.name(here) or _is_of(records, here, fields)
        ]
        all_records = [record for records in found for record in records]
        if len({record.number for record in all_records}) == len(all_records):
            return sorted(all_records, key=lambda record: record.number, reverse=True)
        return sorted(all_records, key=_date, reverse=True)

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

    def save(self, contents: Sequence[dict[str, Any]], machine: str, name: str, reason: str) -> Record:
        """Save the run files of several processes as the next record of their environment.

        All files are written completely before the first gets its name. If this is interrupted between two
        names, the record is incomplete: each file holds the number of processes, so the record is never used.

        A fingerprint that all processes agree on is kept in the first file only; others are dropped.

        Args:
            name: of the record; characters that a file's name cannot have are replaced.
        """
        here = contents[0]["gnnbench"]["environment"]
        folder = self.root / environment.name(here) / machine
        safe = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[:60] or "record"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with next_number(folder, lambda: self._last_number(here)) as (number, temporary):
                if number > _LAST_NUMBER:
                    raise UsageError(f"{folder}: all numbers are used; remove old records")
                run_file.keep_once(contents)
                staged = []
                for process, content in enumerate(contents, 1):
                    content["gnnbench"]["record"] = {
                        "number": number,
                        "process": process,
                        "processes": len(contents),
                        "reason": reason,
                    }
                    staged.append(temporary / f"{number:04}_{safe}_p{process}.json")
                    write_whole(staged[-1], json.dumps(content, allow_nan=False) + "\n")
                files = tuple(folder / file.name for file in staged)
                for file, final in zip(staged, files, strict=True):
                    file.rename(final)
        except OSError as error:
            raise UsageError(
                f"{folder} cannot be written ({error.strerror or error}); nothing was recorded"
            ) from None
        return Record(folder.parent.name, machine, number, safe, files)

    def _last_number(self, here: Mapping[str, Any]) -> int:
        return max((record.number for record in self._of_machine(here)), default=0)


def _is_of(records: Sequence[Record], here: Mapping[str, Any], fields: Sequence[str]) -> bool:
    for record in records:
        with suppress(UsageError):
            other = run_file.read(record.files[0]).environment
            return other is not None and not environment.differences(other, here, fields)
    return False


def _date(record: Record) -> tuple[str, int]:
    try:
        return str(run_file.load(record.files[0]).get("datetime")), record.number
    except UsageError:
        return "", record.number
