"""What a history keeps of a run file: a number for each benchmark, and where and when it is from."""

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from ... import environment, json_io
from ...results import run_file
from ...workloads.spec import Spec

PLAIN = "median of pytest-benchmark's rounds"
"""What the time of a benchmark is that gnnbench did not measure."""
_REMEDY = "take it out of the history"


@dataclass(frozen=True)
class BenchmarkDigest:
    """A benchmark of a file."""

    fullname: str
    label: str
    """The spec's id; of a benchmark that is not one of gnnbench's own, its fullname."""
    work: str
    """Digest of what must be equal for two times to compare: code, graph, and how it was measured."""
    logs: tuple[float, ...]
    """Of each undisturbed process, the natural logarithm of its time in nanoseconds."""
    contended: int
    """Processes that are no evidence."""


@dataclass(frozen=True)
class Digest:
    """A run file, in short."""

    environment: str
    """Name of what must be equal for two runs to compare."""
    date: str
    """When it was measured, in ISO's form, UTC."""
    commit_date: str | None
    """When its commit was made; None where pytest-benchmark did not say."""
    commit: str | None
    dirty: bool
    """Whether files that git follows differed from the commit."""
    record: tuple[str, int] | None
    """Of a baseline: which of its folder, and the number of its processes."""
    benchmarks: tuple[BenchmarkDigest, ...]

    @classmethod
    def of(cls, path: Path) -> Self:
        """Read a run file.

        Raises:
            UsageError: it is none, or says not when it was measured.
        """
        content = run_file.load(path)
        plain = _taken_out(content)
        run = run_file.parse(path, content)
        date = _date(content.get("datetime"))
        if date is None:
            json_io.refuse(path, f"no date of a run: {content.get('datetime')!r}", _REMEDY)
        try:
            commit = content.get("commit_info") or {}
            return cls(
                environment.name(run.environment) if run.environment else _machine(run.machine),
                date,
                _date(commit.get("time")),
                None if run.commit is None else str(run.commit),
                bool(run.environment["dirty"] if run.environment else commit.get("dirty")),
                _record(path, run.record),
                tuple(
                    _plain(path, name, plain[name]) if name in plain else _ours(one)
                    for name, one in run.benchmarks.items()
                ),
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            json_io.refuse(path, f"not a run file of pytest-benchmark: {what}", _REMEDY)

    def as_json(self) -> dict[str, Any]:
        """Return it as the index keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Return what `as_json` gave.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
        """
        benchmarks = tuple(
            BenchmarkDigest(**{**one, "logs": tuple(one["logs"])}) for one in content["benchmarks"]
        )
        record = content["record"]
        return cls(**{**content, "record": record and tuple(record), "benchmarks": benchmarks})


def _taken_out(content: Mapping[str, Any]) -> dict[str, Any]:
    """Take the statistics of benchmarks that gnnbench did not measure out of a file, by fullname.

    Their rounds are not looked at: whether a file has them depends on how it was saved. What is of another
    form is left to `run_file.parse`, which refuses it.
    """
    found = {}
    for entry in content["benchmarks"]:
        match entry:
            case {"extra_info": {"gnnbench": {"measurement": dict()}}}:
                pass
            case {"fullname": str(fullname), "stats": statistics}:
                found[fullname] = statistics
                entry["stats"] = {}
    return found


def _plain(path: Path, fullname: str, statistics: Any) -> BenchmarkDigest:
    seconds = statistics.get("median") if isinstance(statistics, dict) else None
    try:
        nanoseconds = json_io.positive(seconds) * 1e9
    except ValueError as error:
        json_io.refuse(path, f"{fullname}: its median {error}", "save it again")
    return BenchmarkDigest(fullname, fullname, _digest(PLAIN), (math.log(nanoseconds),), 0)


def _ours(one: run_file.Benchmark) -> BenchmarkDigest:
    logs = tuple(process.log for process in one.processes if not process.contended)
    return BenchmarkDigest(
        one.fullname,
        Spec(**one.spec).id if one.spec else one.fullname,
        _digest(one.estimand, one.graph_hash, one.code_hash),
        logs,
        len(one.processes) - len(logs),
    )


def _record(path: Path, record: Mapping[str, Any] | None) -> tuple[str, int] | None:
    """Return what the files of a record have in common: folder and name, less the process at its end."""
    if record is None:
        return None
    return str(path.parent / re.sub(r"_p\d+$", "", path.stem)), int(record["processes"])


def _machine(machine: Mapping[str, Any]) -> str:
    """Return a name for where a file of pytest-benchmark alone is from, the same where its fields are."""
    slug = re.sub(r"[^a-z0-9]+", "-", str(machine["cpu.brand_raw"] or "unknown").lower())[:40].strip("-")
    return f"{slug}_{_digest(*machine.values())}"


def _digest(*values: Any) -> str:
    return hashlib.sha256("\0".join(map(str, values)).encode()).hexdigest()[:8]


def _date(text: Any) -> str | None:
    """Return a date in one form, which sorts as time passes; without an offset it is taken for UTC."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
        utc = (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return utc.isoformat(timespec="microseconds")
