"""The times of a run in the formats of other tools."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import json_io, units
from ..compare import result
from ..compare.axis import fields_of
from ..errors import UsageError
from ..results import former_names, left_out, run_file
from . import csv_text
from .measured import NO_INTERVAL, Measured
from .view import BenchmarkView

REMEDY = "give a run file: one of pytest --benchmark-json, or saved with --benchmark-save-data"
_LONGEST_NAME = 1024
"""Bencher's limit for the name of a benchmark, in characters."""


def read(path: Path) -> tuple[list[BenchmarkView], list[str]]:
    """Return the benchmarks of a run file that have a time, and lines on what is left out.

    Raises:
        UsageError: it is no run file, or has no benchmark with a time.
    """
    content, raw = former_names.read(path, "run file", run_file.MAX_BYTES, REMEDY)
    if (kind := result.kind(content)) not in ("run", None):
        json_io.refuse(path, f"not a run file: it is {units.article(f'{kind} file')}", REMEDY)
    run = run_file.parse(path, run_file.check(path, content, raw))
    found: list[BenchmarkView] = []
    faults, untimed = list(run.left_out), len(run.part.incomplete)
    for name, one in run.benchmarks.items():
        view = BenchmarkView(name, name, "", timed=one)
        if view.time:
            found.append(view)
        elif not one.fault:
            untimed += 1
    if not found:
        json_io.refuse(path, "; ".join(["no benchmark in it has a time", *faults]), REMEDY)
    lines = [f"{units.count(untimed, 'benchmark')} without a time left out"] if untimed else []
    return found, [*left_out.by_file([(path, faults)]), *lines]


def bencher(found: Sequence[BenchmarkView]) -> dict[str, Any]:
    """Return Bencher Metric Format: measures by name of the benchmark.

    The measure `latency` is Bencher's own, in nanoseconds; `peak-memory` is in bytes.

    Raises:
        UsageError: Bencher does not take the name of a benchmark.
    """
    content: dict[str, Any] = {}
    for one in found:
        name, (_, (value, low, high)) = one.fullname, _time(one)
        if not name.strip() or name != name.strip() or len(name) > _LONGEST_NAME:
            shown = f"{name[:40]}..." if len(name) > _LONGEST_NAME else f"'{name}'"
            limit = f"1 to {_LONGEST_NAME:,} characters, without spaces at the ends"
            raise UsageError(f"Bencher does not take the name {shown}: a name has {limit}; rename the test")
        bounds = {} if low is None else {"lower_value": low, "upper_value": high}
        content[name] = {"latency": {"value": value, **bounds}}
        if one.peak_bytes is not None:
            content[name]["peak-memory"] = {"value": one.peak_bytes}
    return content


def github_action_benchmark(found: Sequence[BenchmarkView]) -> list[dict[str, Any]]:
    """Return the entries of github-action-benchmark's tool `customSmallerIsBetter`."""
    entries: list[dict[str, Any]] = []
    for one in found:
        time, (value, low, high) = _time(one)
        entry = {"name": one.fullname, "unit": "ns", "value": value}
        facts = [time.location, *(note for note in time.remarks if note != NO_INTERVAL)]
        if low is not None and high is not None:
            entry["range"] = f"± {max(high - value, value - low):.6g}"
            facts.insert(0, f"{units.level(time.level)} interval: {low:.6g} to {high:.6g} ns")
        entries.append({**entry, "extra": "\n".join(facts)})
        if one.peak_bytes is not None:
            peak = {"name": f"{one.fullname} (peak memory)", "unit": "bytes", "value": one.peak_bytes}
            entries.append(peak)
    return entries


def csv(found: Sequence[BenchmarkView]) -> str:
    """Return a row for each benchmark, with its fields as columns."""
    return csv_text.text(map(_row, found))


def _row(one: BenchmarkView) -> dict[str, Any]:
    time, ns = _time(one)
    assert one.timed
    counters, measured = one.counters, one.timed.part.measurement
    values = {
        **dict(zip(("time_ns", "low_ns", "high_ns"), ns, strict=True)),
        "level": time.level,
        "estimate": time.location,
        "contention_share": measured and measured.contention_share,
        "peak_bytes": one.peak_bytes,
        "allocated_bytes": counters and counters.memory.get("allocated_bytes"),
        "operators": counters and counters.operators,
        "host_reads": counters and counters.host_reads,
    }
    return csv_text.row_of({"benchmark": one.fullname}, fields_of(one.timed)[1], values)


def _time(one: BenchmarkView) -> tuple[Measured, tuple[float, float | None, float | None]]:
    """Return a benchmark's time; and again with the bounds of its interval, in nanoseconds."""
    found = one.time
    assert found
    low, high = (
        None if bound is None else _nanoseconds(bound) for bound in (found.low_seconds, found.high_seconds)
    )
    return found, (_nanoseconds(found.seconds), low, high)


def _nanoseconds(seconds: float) -> float:
    return round(seconds * 1e9, 3)
