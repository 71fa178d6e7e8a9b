"""Read one benchmark of a run file."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..ground import codec, cpu, json_io
from ..ground.codec import Positive
from ..ground.labels import Labels
from ..measure import estimate
from . import suite
from .parts import FORMAT_VERSION, BenchmarkPart

PLAIN = "first decile of pytest-benchmark's rounds"
_OBJECT = "UNSERIALIZABLE["
"""Start of pytest-benchmark's text of an object; the object's address may follow."""
_NO_PART = BenchmarkPart(FORMAT_VERSION)


@dataclass(frozen=True)
class ProcessTiming:
    """One benchmark in one process."""

    log: float
    """Natural logarithm of the estimate in nanoseconds."""
    error: float
    """Standard error of `log` within the process; NaN if there are too few blocks."""
    blocks: int
    contention_share: float = 0.0
    """Share of the CPU time that other programs used meanwhile; 0 if irrelevant, or not measured."""

    @property
    def is_evidence(self) -> bool:
        """Whether contention is low enough."""
        return self.contention_share <= cpu.CONTENDED


@dataclass(frozen=True)
class Benchmark:
    """One benchmark of a run."""

    fullname: str
    processes: tuple[ProcessTiming, ...]
    """Empty if the file has no rounds of this benchmark."""
    estimand: str = PLAIN
    """The kind of estimate, with clock and layouts; only times with equal estimands are comparable."""
    part: BenchmarkPart = _NO_PART
    """gnnbench's part of the benchmark; its fields have their defaults if the file has no part."""
    params: Mapping[str, str] = field(default_factory=dict)
    """pytest's parameters as text, in the order of the test id."""
    rounds_seconds: tuple[float, ...] = ()
    """pytest-benchmark's rounds. Empty if gnnbench measured the benchmark, or the file has no rounds."""
    median_seconds: float | None = None
    """pytest-benchmark's median. None if gnnbench measured the benchmark, or the file has no median."""
    labels: Labels | None = None
    """None if it has no labels, or their suite is not installed."""

    @property
    def is_measured(self) -> bool:
        """Whether gnnbench measured it."""
        return bool(self.processes) and self.estimand != PLAIN


def entries(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the entries of a run file by fullname; the first one if several have the same name."""
    rows: dict[str, dict[str, Any]] = {}
    for entry in content["benchmarks"]:
        rows.setdefault(entry["fullname"], entry)
    return rows


def part_of(extra_info: Any) -> BenchmarkPart:
    """Return gnnbench's part of a benchmark's `extra_info`; raises ValueError if it has another form."""
    part = json_io.gnnbench_part(extra_info)
    return codec.decode(part, BenchmarkPart) if part else _NO_PART


def read(entry: Mapping[str, Any]) -> Benchmark:
    """Read a benchmark's entry of a run file; a ValueError names a damaged entry."""
    try:
        return _read(entry)
    except json_io.DAMAGE as error:
        raise ValueError(f"{entry['fullname']}: {json_io.damage(error)}") from None


def _read(entry: Mapping[str, Any]) -> Benchmark:
    part, params = part_of(entry.get("extra_info")), _params(entry)
    labels = suite.installed().labels(part.spec) if part.spec else None
    measurement = part.measurement
    if measurement:
        share = measurement.contention_share or 0.0
        rows = [row for row in measurement.processes if row.blocks_ns]
        clock = "GPU" if any(row.has_gpu_time for row in rows) else measurement.clock
        return Benchmark(
            entry["fullname"],
            tuple(_process(row.times_ns, share) for row in rows),
            f"{measurement.location or estimate.NAME}, clock {clock}, layouts {measurement.layouts}",
            part,
            params,
            labels=labels,
        )
    rounds = codec.decode(entry["stats"].get("data") or (), tuple[Positive, ...])
    median = entry["stats"].get("median")
    return Benchmark(
        entry["fullname"],
        (_process([[seconds * 1e9] for seconds in rounds], 0.0),) if rounds else (),
        part=part,
        params=params,
        rounds_seconds=rounds,
        median_seconds=None if median is None else codec.decode(median, Positive),
        labels=labels,
    )


def _params(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return pytest's parameters as text; an object, such as a function, is written as in the test id."""
    params = json_io.fields(entry.get("params"))
    ids = str(entry.get("param") or "").split("-")
    words = ids if len(ids) == len(params) else [""] * len(params)
    return {
        name: word if word and _is_object(value) else str(value)
        for (name, value), word in zip(params.items(), words, strict=True)
    }


def _is_object(value: Any) -> bool:
    return isinstance(value, dict | list) or (isinstance(value, str) and value.startswith(_OBJECT))


def _process(blocks: Sequence[Sequence[float]], contention_share: float) -> ProcessTiming:
    """Estimate the time of a process from its blocks."""
    values = estimate.block_values(blocks)
    location = estimate.estimate(values).location
    return ProcessTiming(math.log(location), estimate.standard_error(values), len(blocks), contention_share)
