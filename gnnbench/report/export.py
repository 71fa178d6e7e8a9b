"""The times of a run in the formats of other tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import json_io, units
from ..compare import result
from ..compare.axis import fields_of
from ..errors import UsageError
from ..measure.counter_changes import Counters
from ..results import former_names, left_out, run_file
from . import csv_text
from .measured import NO_INTERVAL, Measured, time_of

REMEDY = "give a run file: one of pytest --benchmark-json, or saved with --benchmark-save-data"
_LONGEST_NAME = 1024
"""Bencher's limit for the name of a benchmark, in characters."""


@dataclass(frozen=True)
class Exported:
    """One benchmark of a run."""

    name: str
    fields: Mapping[str, str]
    """Of the spec, or pytest's parameters."""
    time: Measured
    counters: Counters | None
    """None: its work was not counted."""
    contention_share: float | None
    """None: not recorded."""

    @property
    def peak_bytes(self) -> int | None:
        """None: it was not measured."""
        return self.counters.memory.get("peak_bytes") if self.counters else None

    @property
    def ns(self) -> tuple[float, float | None, float | None]:
        """The time, and the bounds of its interval, in nanoseconds."""
        low, high = (
            None if bound is None else _nanoseconds(bound)
            for bound in (self.time.low_seconds, self.time.high_seconds)
        )
        return _nanoseconds(self.time.seconds), low, high


def read(path: Path) -> tuple[list[Exported], list[str]]:
    """Return the benchmarks of a run file that have a time, and lines on what is left out.

    Raises:
        UsageError: it is no run file, or has no benchmark with a time.
    """
    content, raw = former_names.read(path, "run file", run_file.MAX_BYTES, REMEDY)
    if (kind := result.kind(content)) not in ("run", None):
        json_io.refuse(path, f"not a run file: it is {units.article(f'{kind} file')}", REMEDY)
    run = run_file.parse(path, run_file.check(path, content, raw))
    found, faults, untimed = {}, list(run.left_out), len(run.part.incomplete)
    for name, one in run.benchmarks.items():
        if time := time_of(one):
            taken = one.part.measurement
            share = taken.contention_share if taken else None
            found[name] = Exported(name, fields_of(one)[1], time, one.part.counters, share)
        elif not one.fault:
            untimed += 1
    if not found:
        json_io.refuse(path, "; ".join(["no benchmark in it has a time", *faults]), REMEDY)
    lines = [f"{units.count(untimed, 'benchmark')} without a time left out"] if untimed else []
    return list(found.values()), [*left_out.by_file([(path, faults)]), *lines]


def bencher(found: Sequence[Exported]) -> dict[str, Any]:
    """Return Bencher Metric Format: measures by name of the benchmark.

    The measure `latency` is Bencher's own, in nanoseconds; `peak-memory` is in bytes.

    Raises:
        UsageError: Bencher does not take the name of a benchmark.
    """
    content: dict[str, Any] = {}
    for one in found:
        if not one.name.strip() or one.name != one.name.strip() or len(one.name) > _LONGEST_NAME:
            shown = f"{one.name[:40]}..." if len(one.name) > _LONGEST_NAME else f"'{one.name}'"
            limit = f"1 to {_LONGEST_NAME:,} characters, without spaces at the ends"
            raise UsageError(f"Bencher does not take the name {shown}: a name has {limit}; rename the test")
        value, low, high = one.ns
        bounds = {} if low is None else {"lower_value": low, "upper_value": high}
        content[one.name] = {"latency": {"value": value, **bounds}}
        if one.peak_bytes is not None:
            content[one.name]["peak-memory"] = {"value": one.peak_bytes}
    return content


def github_action_benchmark(found: Sequence[Exported]) -> list[dict[str, Any]]:
    """Return the entries of github-action-benchmark's tool `customSmallerIsBetter`."""
    entries: list[dict[str, Any]] = []
    for one in found:
        value, low, high = one.ns
        entry = {"name": one.name, "unit": "ns", "value": value}
        facts = [one.time.location, *(note for note in one.time.remarks if note != NO_INTERVAL)]
        if low is not None and high is not None:
            entry["range"] = f"± {max(high - value, value - low):.6g}"
            facts.insert(0, f"{units.level(one.time.level)} interval: {low:.6g} to {high:.6g} ns")
        entries.append({**entry, "extra": "\n".join(facts)})
        if one.peak_bytes is not None:
            peak = {"name": f"{one.name} (peak memory)", "unit": "bytes", "value": one.peak_bytes}
            entries.append(peak)
    return entries


def csv(found: Sequence[Exported]) -> str:
    """Return a row for each benchmark, with its fields as columns."""
    return csv_text.text(csv_text.row_of({"benchmark": one.name}, one.fields, _values(one)) for one in found)


def _values(one: Exported) -> dict[str, Any]:
    counters = one.counters
    return {
        **dict(zip(("time_ns", "low_ns", "high_ns"), one.ns, strict=True)),
        "level": one.time.level,
        "estimate": one.time.location,
        "contention_share": one.contention_share,
        "peak_bytes": one.peak_bytes,
        "allocated_bytes": counters and counters.memory.get("allocated_bytes"),
        "operators": counters and counters.operators,
        "host_reads": counters and counters.host_reads,
    }


def _nanoseconds(seconds: float) -> float:
    return round(seconds * 1e9, 3)
