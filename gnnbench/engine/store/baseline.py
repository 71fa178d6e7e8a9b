"""Baseline records: the run files of several processes, in a pytest-benchmark storage for each environment.

The files of record NNNN are `<environment>/<machine>/NNNN_NAME_pK.json`, for process K from 1.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..ground import codec, environment, units
from ..ground.cpu import CONTENDED
from ..ground.environment import Environment
from ..ground.errors import UsageError
from ..ground.files import one_writer, save
from . import run_file
from .parts import RecordPart
from .run_file import RunFile

FOLDER = Path("baselines") / "timings"

_FILE = re.compile(r"(\d{4}_.+)_p[1-9]\d*\.json")


@dataclass(frozen=True)
class Record:
    """A baseline record: the run files of several processes that timed one commit."""

    environment: str
    """Name of the environment's folder."""
    id: str
    """The number of the record, as four digits."""
    files: tuple[Path, ...]

    def read(self) -> list[RunFile]:
        """Return the run files of all processes."""
        runs = list(map(run_file.read, self.files))
        for run in runs:
            count = run.part.record.processes if run.part.record else 0
            if count != len(runs):
                raise UsageError(
                    f"{run.path}: record {self.id} has only {len(runs)} of its {count} files; "
                    "restore the missing files, or remove the record"
                )
        return runs


@dataclass(frozen=True)
class RecordStore:
    """The folder of a project's baseline records."""

    root: Path

    def records(self, environment_name: str = "*") -> list[Record]:
        """Return the records, of one environment or of all, the oldest first."""
        groups: dict[tuple[Path, str], list[Path]] = {}
        for file in sorted(self.root.glob(f"{environment_name}/*/*.json")):
            if match := _FILE.fullmatch(file.name):
                groups.setdefault((file.parent, match[1]), []).append(file)
        records = [
            Record(folder.parent.name, name[:4], tuple(files)) for (folder, name), files in groups.items()
        ]
        return sorted(records, key=lambda record: record.id)

    def nearest(self, current: Environment) -> tuple[Record | None, list[tuple[str, Any, Any]]]:
        """Return the newest record of the most similar environment, and how that differs from `current`."""
        rows = [
            (record, environment.differences(recorded, current))
            for record in {record.environment: record for record in self.records()}.values()
            if (recorded := _environment(record, environment.name(current)))
        ]
        # Differences of the machine count more than those of settings.
        rows.sort(key=lambda row: (sum(name in environment.MACHINE for name, *_ in row[1]), len(row[1])))
        return next(iter(rows), (None, []))

    def save(self, contents: Sequence[dict[str, Any]], machine: str, name: str, reason: str) -> Record:
        """Save the run files of several processes as the next record of their environment."""
        current = codec.decode(contents[0]["gnnbench"]["environment"], Environment)
        folder = self.root / environment.name(current) / machine
        _share_fingerprints(contents)
        with one_writer(self.root):
            number = max((int(record.id) for record in self.records(folder.parent.name)), default=0) + 1
            processes = range(1, len(contents) + 1)
            files = [folder / f"{number:04}_{name}_p{process}.json" for process in processes]
            try:
                for process, file, content in zip(processes, files, contents, strict=True):
                    part = RecordPart(process, len(contents), reason)
                    content["gnnbench"]["record"] = codec.encode(part)
                    save(file, json.dumps(content, allow_nan=False) + "\n")
            except BaseException as error:
                for file in files:
                    file.unlink(missing_ok=True)
                if isinstance(error, UsageError):
                    raise UsageError(f"{error}; nothing was recorded") from None
                raise
        return Record(folder.parent.name, f"{number:04}", tuple(files))


def _environment(record: Record, current: str) -> Environment | None:
    """Return a record's environment. Returns None if its file cannot be read and is not for `current`."""
    try:
        return run_file.read(record.files[0]).environment
    except UsageError:
        if record.environment == current:
            raise
        return None


def _share_fingerprints(contents: Sequence[dict[str, Any]]) -> None:
    """Keep a benchmark's fingerprint in the first file only, or in no file if the processes disagree."""
    parts = [
        {name: entry["extra_info"]["gnnbench"] for name, entry in run_file.entries(content).items()}
        for content in contents
    ]
    for name, first in parts[0].items():
        fingerprints = [part[name].pop("fingerprint", None) for part in parts]
        distinct = {(row["code"], row["settings"]) if row else None for row in fingerprints}
        if len(distinct) > 1:
            for part in parts:
                part[name].setdefault("no_fingerprint", "the processes of the record run different code")
        elif fingerprints[0]:
            first["fingerprint"] = fingerprints[0]


def only_measured(run: RunFile) -> RunFile:
    """Return a run with only the benchmarks that gnnbench measured, or the whole run if there are none."""
    benchmarks = {name: benchmark for name, benchmark in run.benchmarks.items() if benchmark.is_measured}
    return replace(run, benchmarks=benchmarks) if benchmarks else run


def mismatch(runs: Sequence[RunFile]) -> str | None:
    """Return why runs cannot be the processes of one record; contention is not checked. None if they can."""
    reasons = (_defect(run) or _difference(run, runs[0]) for run in runs)
    return next((reason for reason in reasons if reason), None)


def contention_note(runs: Sequence[RunFile]) -> str | None:
    """Return a line on times that other programs disturbed. Returns None if there are none."""
    shares = (
        max(process.contention_share for run in runs for process in run.benchmarks[name].processes)
        for name in runs[0].benchmarks
    )
    disturbed = [share for share in shares if share > CONTENDED]
    if not disturbed:
        return None
    reason = f"other programs used up to {units.fraction(max(disturbed))} of the CPU time"
    return f"{reason}: the times of {units.count(len(disturbed), 'benchmark')} are saved, but not compared"


def _defect(run: RunFile) -> str | None:
    """Return why a run cannot be a process of any record. Returns None if it can."""
    if run.sources is None or not all(benchmark.is_measured for benchmark in run.benchmarks.values()):
        return "gnnbench did not time the benchmarks; run without --gnn-layouts off"
    if run.part.incomplete:
        return f"{run.part.incomplete[0].fullname} was interrupted"
    if not run.benchmarks:
        return "no benchmark was timed"
    dirty = [tree.name for tree in run.sources.trees if tree.dirty]
    return f"tracked files of {' and '.join(dirty)} have uncommitted changes" if dirty else None


def _difference(run: RunFile, first: RunFile) -> str | None:
    """Return how a process differs from the first one of its record. Returns None if they agree."""
    assert first.environment
    assert run.environment
    names = (*environment.CONDITIONS, *environment.VERSIONS)
    if fields := environment.differences(first.environment, run.environment, names):
        return f"the environment changed during the recording: {', '.join(name for name, *_ in fields)}"
    sides = [side.sources for side in (run, first) if side.sources]
    commits, first_commits = ({tree.path: tree.commit for tree in sources.trees} for sources in sides)
    if commits != first_commits:
        return "another commit was checked out during the recording"
    if run.benchmarks.keys() != first.benchmarks.keys():
        return f"{min(run.benchmarks.keys() ^ first.benchmarks.keys())} is missing in some processes"
    return None
