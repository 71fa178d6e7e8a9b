"""Reads run files: JSON files that pytest-benchmark wrote, with or without the parts that gnnbench adds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from ..ground import codec, cpu, json_io
from ..ground.codec import Positive
from ..ground.environment import Environment
from ..ground.labels import Labels
from ..ground.shard import Shard
from ..measure import estimate
from ..measure.sources import Sources
from . import suite
from .parts import FORMAT_VERSION, BenchmarkPart, RunPart

REMEDY = "save it again"
_FOREIGN = "not a run file of pytest-benchmark"
_OF_PYTEST = "give a file that pytest --benchmark-json wrote"
_MACHINE = ("system", "machine", "python_implementation", "cpu.brand_raw", "cpu.arch", "cpu.count")
"""Fields of pytest-benchmark's `machine_info` that must be equal if a file lacks gnnbench's environment."""
PLAIN = "first decile of pytest-benchmark's rounds"
_OBJECT = "UNSERIALIZABLE["
"""How pytest-benchmark's text for an object begins. The object's address may follow."""
_NO_PART = BenchmarkPart(FORMAT_VERSION)


@dataclass(frozen=True)
class ProcessTiming:
    """The time of one benchmark in one process."""

    log: float
    """Natural logarithm of the estimate in nanoseconds."""
    error: float
    """Standard error of `log` within the process; NaN if there are too few blocks."""
    blocks: int
    contention_share: float = 0.0
    """Share of the CPU time that other programs used meanwhile; 0 if it was not measured."""
    mean: float = math.nan
    """Mean of the logarithms of the blocks' mean times in nanoseconds; a plain file's blocks are rounds."""
    mean_error: float = math.nan
    """Standard error of `mean` within the process; NaN for one block."""

    @property
    def is_evidence(self) -> bool:
        """Whether contention was low enough to base a verdict on this time."""
        return self.contention_share <= cpu.CONTENDED


@dataclass(frozen=True)
class Benchmark:
    """One benchmark of a run."""

    fullname: str
    processes: tuple[ProcessTiming, ...]
    """Empty if the file has no rounds of this benchmark."""
    estimand: str = PLAIN
    """What is estimated, by which clock, on which layouts; only times with equal estimands are comparable."""
    part: BenchmarkPart = _NO_PART
    """gnnbench's part of the benchmark; its fields have their defaults if the file has no part."""
    params: Mapping[str, str] = field(default_factory=dict)
    """pytest's parameters as text, in the order of the test id."""
    rounds_seconds: tuple[float, ...] = ()
    """pytest-benchmark's rounds. Empty if gnnbench measured the benchmark, or the file has no rounds."""
    median_seconds: float | None = None
    """pytest-benchmark's median. None if gnnbench measured the benchmark, or the file has no median."""
    labels: Labels | None = None
    """None if the benchmark has no labels, or their suite is not installed."""

    @property
    def is_measured(self) -> bool:
        """Whether gnnbench measured the benchmark."""
        return bool(self.processes) and self.estimand != PLAIN


@dataclass(frozen=True)
class RunFile:
    """The content of a run file."""

    path: Path
    benchmarks: Mapping[str, Benchmark]
    """By fullname."""
    environment: Environment | None
    """None if gnnbench added nothing to the file."""
    machine: Mapping[str, Any]
    """The fields of pytest-benchmark's `machine_info` that are compared."""
    commit: str | None
    part: RunPart
    """gnnbench's part; its fields have their defaults if the file has no part."""
    shard: Shard | None = None
    """None if the run was not split."""
    sources: Sources | None = None
    """Where the code came from. None if gnnbench added nothing to the file."""
    datetime: str = ""
    """When the file was saved. Empty if unknown."""


def read(path: Path) -> RunFile:
    """Read a run file."""
    return parse(path, json_io.read(path, REMEDY))


def parse(path: Path, content: Any) -> RunFile:
    """Read the content of a run file. Raises UsageError for other content, or another format version."""
    if not isinstance(content, dict) or not isinstance(content.get("benchmarks"), list):
        json_io.refuse(path, f"{_FOREIGN}: it has no list of benchmarks", _OF_PYTEST)
    if "command" in content:
        reason = f"the output of gnnbench {content['command']}, not a run file"
        json_io.refuse(path, reason, _OF_PYTEST)
    part = json_io.gnnbench_part(content)
    if not part and not isinstance(content.get("version"), str):
        json_io.refuse(path, f"{_FOREIGN}: it has no key `version`", _OF_PYTEST)
    if part and part["version"] != FORMAT_VERSION:
        reason = f"format version {part['version']}, but this gnnbench reads version {FORMAT_VERSION}"
        json_io.refuse(path, reason, "use the gnnbench that wrote it, or measure again")
    with json_io.refusing(path, f"damaged, or {_FOREIGN}", REMEDY):
        return _run(path, content, part)


def _run(path: Path, content: Mapping[str, Any], saved: Mapping[str, Any]) -> RunFile:
    """Read the content of a run file. `saved` is gnnbench's part of it, or empty."""
    try:
        part = codec.decode(saved or {"version": FORMAT_VERSION}, RunPart)
    except ValueError as error:
        json_io.refuse(path, f"damaged: gnnbench{str(error).removeprefix('$')}", REMEDY)
    machine = json_io.fields(content.get("machine_info"))  # users' hooks may put anything there
    flat = machine | {f"cpu.{name}": value for name, value in json_io.fields(machine.get("cpu")).items()}
    benchmarks = {name: read_benchmark(entry) for name, entry in entries(content).items()}
    commit = part.environment.commit if part.environment else None
    commit = commit or json_io.fields(content.get("commit_info")).get("id")
    python = ".".join(str(machine.get("python_version", "")).split(".")[:2])
    return RunFile(
        path=path,
        benchmarks=benchmarks,
        environment=part.environment,
        machine={**{name: flat.get(name) for name in _MACHINE}, "python": python},
        commit=None if commit in (None, "unknown") else str(commit),  # pytest-benchmark found no commit
        part=part,
        shard=Shard.parse(part.shard) if part.shard else None,
        sources=part.sources,
        datetime=str(content.get("datetime") or ""),
    )


def entries(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the entries of a run file by fullname. If several have the same name, return the first."""
    names = codec.decode([entry["fullname"] for entry in content["benchmarks"]], list[str])
    rows: dict[str, dict[str, Any]] = {}
    for name, entry in zip(names, content["benchmarks"], strict=True):
        rows.setdefault(name, entry)
    return rows


def part_of(extra_info: Any) -> BenchmarkPart:
    """Read gnnbench's part of a benchmark's `extra_info`. Raises ValueError if the part is damaged."""
    part = json_io.gnnbench_part(extra_info)
    return codec.decode(part, BenchmarkPart) if part else _NO_PART


def read_benchmark(entry: Mapping[str, Any]) -> Benchmark:
    """Read a benchmark's entry of a run file. If the entry is damaged, raise ValueError with its name."""
    try:
        return _benchmark(entry)
    except json_io.DAMAGE as error:
        raise ValueError(f"{entry['fullname']}: {json_io.damage(error)}") from None


def _benchmark(entry: Mapping[str, Any]) -> Benchmark:
    """Read a benchmark: gnnbench's measurement, or else pytest-benchmark's rounds or median."""
    part, params = part_of(entry.get("extra_info")), _params(entry)
    labels = suite.installed().labels(part.spec) if part.spec else None
    measurement = part.measurement
    if measurement:
        share = measurement.contention_share or 0.0
        rows = [row for row in measurement.processes if row.blocks_ns]
        clock = "GPU" if any(row.has_gpu_time for row in rows) else measurement.clock
        return Benchmark(
            entry["fullname"],
            processes=tuple(_process(row.times_ns, share) for row in rows),
            estimand=f"{measurement.location or estimate.NAME}, clock {clock}, layouts {measurement.layouts}",
            part=part,
            params=params,
            labels=labels,
        )
    rounds = codec.decode(entry["stats"].get("data") or (), tuple[Positive, ...])
    median = entry["stats"].get("median")
    return Benchmark(
        entry["fullname"],
        processes=(_process([[seconds * 1e9] for seconds in rounds], 0.0),) if rounds else (),
        part=part,
        params=params,
        rounds_seconds=rounds,
        median_seconds=None if median is None else codec.decode(median, Positive),
        labels=labels,
    )


def _params(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return pytest's parameters as text. An object, such as a function, is shown as in the test id."""
    params = json_io.fields(entry.get("params"))
    ids = str(entry.get("param") or "").split("-")
    words = ids if len(ids) == len(params) else [""] * len(params)
    objects = {name for name, value in params.items() if isinstance(value, dict | list)}
    objects |= {name for name, value in params.items() if str(value).startswith(_OBJECT)}
    rows = zip(params.items(), words, strict=True)
    return {name: word if word and name in objects else str(value) for (name, value), word in rows}


def _process(blocks: Sequence[Sequence[float]], contention_share: float) -> ProcessTiming:
    """Estimate the time of a process from its blocks."""
    values = estimate.block_values(blocks)
    location = estimate.estimate(values).location
    error, count, means = estimate.standard_error(values), len(blocks), np.log([*map(fmean, blocks)])
    mean_error = float(means.std(ddof=1)) / math.sqrt(count) if count > 1 else math.nan
    return ProcessTiming(math.log(location), error, count, contention_share, float(means.mean()), mean_error)
