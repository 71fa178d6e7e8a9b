"""The run files of a history, and the digest of each: one time for each benchmark and process."""

import glob
import hashlib
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from ... import environment, json_io
from ...errors import UsageError
from ...files import user_path
from ...results import benchmark, run_file
from ...results.benchmark import Benchmark
from ..memory import Peaks

PLAIN = "median of pytest-benchmark's rounds"
"""The estimate for benchmarks that gnnbench did not measure."""
_REMEDY = "remove it from the history"


@dataclass(frozen=True)
class BenchmarkDigest:
    """One benchmark of a run file."""

    fullname: str
    work: str
    """Hash of code, graph and way of measuring: times are comparable only if these are equal."""
    logs: tuple[float, ...]
    """Natural logarithm of the time in nanoseconds, of each process without contention."""
    contended: int
    """Number of processes with contention."""
    peaks: Peaks | None = None
    """Peak memory of a call beside its inputs; None: not measured."""


@dataclass(frozen=True)
class Digest:
    """What a history keeps of a run file."""

    environment: str
    """Name of the environment: runs are comparable only within one."""
    date: str
    """Time of the measurement, ISO 8601, UTC."""
    commit_date: str | None
    """Time of the commit; None: pytest-benchmark did not save it."""
    commit: str | None
    dirty: bool
    """Whether tracked files had uncommitted changes."""
    processes: int | None
    """Number of files of the baseline record that the file is part of; None: of no record."""
    benchmarks: tuple[BenchmarkDigest, ...]
    left_out: tuple[str, ...]
    """As in the run file."""

    @classmethod
    def of(cls, path: Path) -> Self:
        """Read a run file.

        Raises:
            UsageError: the file is not a run file, or has no date.
        """
        content = run_file.load(path)
        _without_rounds(content)
        run = run_file.parse(path, content)
        date = _date(content.get("datetime"))
        if date is None:
            json_io.refuse(path, f"datetime is not a date: {content.get('datetime')!r}", _REMEDY)
        with json_io.refusing(path, "not a run file of pytest-benchmark", _REMEDY):
            commit = json_io.fields(content.get("commit_info"))
            return cls(
                environment.name_with_versions(run.environment) if run.environment else _machine(run.machine),
                date,
                _date(commit.get("time")),
                run.commit,
                bool(run.environment["dirty"] if run.environment else commit.get("dirty")),
                run.part.record.processes if run.part.record else None,
                tuple(map(_digested, run.benchmarks.values())),
                run.left_out,
            )


def _without_rounds(content: Mapping[str, Any]) -> None:
    """Remove pytest-benchmark's rounds, which are not used: a file has them or not as it was saved."""
    for entry in benchmark.entries(content).values():
        json_io.fields(entry.get("stats")).pop("data", None)


def _digested(one: Benchmark) -> BenchmarkDigest:
    if one.median_seconds is not None:
        return BenchmarkDigest(one.fullname, _digest(PLAIN), (math.log(one.median_seconds * 1e9),), 0)
    logs = tuple(process.log for process in one.processes if not process.contended)
    work = _digest(one.estimand, one.part.graph_hash, one.part.code_hash)
    contended = len(one.processes) - len(logs)
    return BenchmarkDigest(one.fullname, work, logs, contended, Peaks.of(one.part.memory))


def _machine(machine: Mapping[str, Any]) -> str:
    """Name the environment of a file without gnnbench's part, by the machine's fields."""
    slug = re.sub(r"[^a-z0-9]+", "-", str(machine["cpu.brand_raw"] or "unknown").lower())[:40].strip("-")
    return f"{slug}_{_digest(*machine.values())}"


def _digest(*values: Any) -> str:
    return hashlib.sha256("\0".join(map(str, values)).encode()).hexdigest()[:8]


def _date(text: Any) -> str | None:
    """Return a date as sortable ISO 8601 text in UTC; a date without an offset is taken as UTC."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
        utc = (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return utc.isoformat(timespec="microseconds")


def read(paths: Sequence[Path], progress: Callable[[int, int], None]) -> tuple[dict[Path, Digest], list[str]]:
    """Return the digests of run files, and a line for each file that cannot be used.

    Args:
        paths: the run files.
        progress: called with the number of files read and to read.
    """
    found: dict[Path, Digest] = {}
    refused = []
    for number, path in enumerate(paths):
        progress(number, len(paths))
        try:
            found[path] = Digest.of(path)
        except UsageError as error:
            refused.append(str(error))
    return found, refused


def find(names: Sequence[str]) -> list[Path]:
    """Return the files, sorted, each once.

    A folder stands for all `.json` files in it and in its subfolders, without hidden ones.

    Raises:
        UsageError: a name matches no file.
    """
    found: set[Path] = set()
    for name in names:
        files = _of(name)
        if not files:
            raise UsageError(
                f"{name}: {_why(name)}; name a folder with run files, or a pattern such as 'runs/*.json'"
            )
        found.update(Path(os.path.abspath(file)) for file in files)  # noqa: PTH100 - a link's own name
    return sorted(found)


def _of(name: str) -> list[Path]:
    path = user_path(name)
    if path.is_dir():
        return _below(path)
    if path.exists():
        return [path]
    return [Path(one) for one in glob.glob(str(path), recursive=True) if Path(one).is_file()]  # noqa: PTH207 - `**`


def _below(folder: Path) -> list[Path]:
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found.extend(
            Path(place, name) for name in names if name.endswith(".json") and not name.startswith(".")
        )
    return found


def _why(name: str) -> str:
    if user_path(name).is_dir():
        return "this folder has no .json file"
    return "no file matches this pattern" if glob.has_magic(name) else "no such file or folder"
