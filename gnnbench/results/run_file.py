"""Read run files: pytest-benchmark's JSON, with gnnbench's part if there is one."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from scipy import special

from .. import cpu, environment, json_io
from ..errors import UsageError
from ..measure import estimate
from ..measure.fingerprint.fingerprint import Fingerprint
from ..measure.sources import Sources
from ..shard import Shard
from ..workloads.spec import Spec
from . import former_names
from .entry import FORMAT_VERSION

MAX_BYTES = 2**29
"""Largest file that is read; far more than any suite needs."""

READABLE = (FORMAT_VERSION,)
_REMEDY = "save it again"

_DIGEST = re.compile(rb'"digest": ?"([0-9a-f]{64})"')
_BLANK = b"0" * 64

_MACHINE = ("system", "machine", "python_implementation", "cpu.brand_raw", "cpu.arch", "cpu.count")
"""Fields of pytest-benchmark's `machine_info` that must be equal if a file has no environment of gnnbench."""


@dataclass(frozen=True)
class ProcessTiming:
    """One benchmark in one process."""

    log: float
    """Natural logarithm of the estimate in nanoseconds."""
    error: float
    """Standard error of `log` within the process; NaN: too few blocks."""
    blocks: int
    contention_share: float | None = 0.0
    """Share of the CPU time that other programs used meanwhile. 0 if it does not matter (GPU) or if the file
    has no part of gnnbench. None: it should have been recorded, but was not."""

    @property
    def contended(self) -> bool:
        """Whether other programs used too much CPU time."""
        return (self.contention_share or 0.0) > cpu.CONTENDED

    @property
    def is_evidence(self) -> bool:
        """Whether contention is known to be low enough."""
        return self.contention_share is not None and not self.contended


@dataclass(frozen=True)
class Benchmark:
    """One benchmark of a run."""

    fullname: str
    processes: tuple[ProcessTiming, ...]
    """Empty: the file has no rounds of this benchmark."""
    estimand: str
    """The kind of estimate, with clock and layouts; times are comparable only if it is equal."""
    modes: tuple[tuple[float, float], ...] = ()
    """Nanoseconds and share of each layout mode, the fastest first."""
    spec: Mapping[str, Any] | None = None
    """None: the benchmark has no spec."""
    graph_hash: str | None = None
    code_hash: str | None = None
    """Of the benchmark's code and what it calls in the project."""
    definition_hash: str | None = None
    """Of the test and its reference, or its fixtures; older files lack it."""
    counters: Mapping[str, Any] | None = None
    fingerprint: Fingerprint | None = None
    """What one call runs; None: the file does not say."""


@dataclass(frozen=True)
class RunFile:
    """A checked run file."""

    path: Path
    benchmarks: Mapping[str, Benchmark]
    """By fullname."""
    environment: Mapping[str, Any] | None
    """None: the file has no part of gnnbench."""
    machine: Mapping[str, Any]
    """The fields of pytest-benchmark's `machine_info` that are compared."""
    commit: str | None
    incomplete: tuple[str, ...]
    """Benchmarks that were interrupted."""
    record: Mapping[str, Any] | None
    """The baseline record that the file is part of; None: none."""
    shard: Shard | None = None
    """None: the run was not split."""
    covers: tuple[str, ...] = ()
    """Folders and files, relative to rootdir, whose benchmarks were all run, apart from other shards."""
    sources: Sources | None = None
    """Where the code came from; older files say less. None: the file has no part of gnnbench."""


def read(path: Path) -> RunFile:
    """Read a run file.

    Raises:
        UsageError: it is missing, too large or damaged, has another format or version, or was edited.
    """
    return parse(path, load(path))


def load(path: Path) -> dict[str, Any]:
    """Return a file's content, after `check`.

    Raises:
        UsageError: as `read`.
    """
    return check(path, *former_names.read(path, "run file", MAX_BYTES, _REMEDY))


def check(path: Path, content: Any, raw: bytes) -> dict[str, Any]:
    """Return the content if its version is readable and, in a baseline, its digest is right.

    Args:
        path: the file, for messages.
        content: parsed JSON.
        raw: the file's bytes.

    Raises:
        UsageError: the content has another form or version, or was edited.
    """
    if not isinstance(content, dict) or not isinstance(content.get("benchmarks"), list):
        _refuse(path, "not a run file of pytest-benchmark: it has no list of benchmarks")
    ours = content.get("gnnbench")
    if ours is not None:
        version = ours.get("version") if isinstance(ours, dict) else None
        if version not in READABLE:
            _refuse(
                path,
                f"version {version!r} of the format; this gnnbench reads {', '.join(map(str, READABLE))}",
                "use the gnnbench that wrote it, or measure again",
            )
        if "record" in ours and not _unchanged(raw):
            _refuse(path, "edited after it was recorded", "restore it with git checkout -- FILE")
    return content


def parse(path: Path, content: Mapping[str, Any]) -> RunFile:
    """Check a run file's content.

    Args:
        path: the file, for messages.
        content: from `load`.

    Raises:
        UsageError: the content has another form.
    """
    try:
        return _run(path, content)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        _refuse(path, f"not a run file of pytest-benchmark: {what}")


def seal(content: dict[str, Any]) -> str:
    """Return the text of a baseline file; its record holds a digest of the rest of the file."""
    content["gnnbench"]["record"]["digest"] = _BLANK.decode()
    text = json.dumps(content, ensure_ascii=True, allow_nan=False) + "\n"
    return text.replace(_BLANK.decode(), hashlib.sha256(text.encode()).hexdigest())


def _unchanged(raw: bytes) -> bool:
    found = list(_DIGEST.finditer(raw))
    if not found:
        return False
    start, end = found[-1].span(1)
    return hashlib.sha256(raw[:start] + _BLANK + raw[end:]).hexdigest().encode() == raw[start:end]


def _run(path: Path, content: Mapping[str, Any]) -> RunFile:
    ours = content.get("gnnbench") or {}
    if ours.get("environment"):
        environment.name(ours["environment"])  # raises if a field is missing
    machine = content.get("machine_info") or {}
    flat = {**machine, **{f"cpu.{key}": value for key, value in (machine.get("cpu") or {}).items()}}
    found = [_benchmark(path, entry) for entry in content["benchmarks"]]
    python = ".".join(str(machine.get("python_version", "")).split(".")[:2])
    return RunFile(
        path,
        {benchmark.fullname: benchmark for benchmark in found},
        ours.get("environment"),
        {**{name: flat.get(name) for name in _MACHINE}, "python": python},
        (ours.get("environment") or {}).get("commit") or (content.get("commit_info") or {}).get("id"),
        tuple(entry["fullname"] for entry in ours.get("incomplete", ())),
        ours.get("record"),
        shard_of(path, ours.get("shard")),
        tuple(map(str, ours.get("covers", ()))),
        _sources(ours),
    )


def _sources(ours: Mapping[str, Any]) -> Sources | None:
    if saved := ours.get("sources"):
        return Sources.from_json(saved)
    return Sources.of_environment(ours["environment"]) if ours.get("environment") else None


def shard_of(path: Path, text: str | None) -> Shard | None:
    """Parse a file's shard, as in `1/4`.

    Raises:
        UsageError: it is not a shard.
    """
    try:
        return Shard.parse(text) if text else None
    except UsageError as error:
        _refuse(path, str(error))


def _benchmark(path: Path, entry: Mapping[str, Any]) -> Benchmark:
    fullname = entry["fullname"]
    if not isinstance(fullname, str):
        _refuse(path, f"a benchmark's fullname is {fullname!r}")
    ours = (entry.get("extra_info") or {}).get("gnnbench") or {}
    if spec := ours.get("spec"):
        Spec(**spec)  # raises on missing or unknown fields
    if counters := ours.get("counters"):
        counters["counts"].items(), list(counters["unsteady"])
    if "version" in ours and ours["version"] not in READABLE:
        _refuse(
            path, f"{fullname}: version {ours['version']!r} of the format, which this gnnbench cannot read"
        )
    fingerprint = Fingerprint.of_method(ours.get("fingerprint"))
    measured = ours.get("measurement")
    if measured is None:
        blocks = [[_time(path, fullname, seconds) * 1e9] for seconds in entry["stats"].get("data", ())]
        processes = tuple(_process(part) for part in [blocks] if part)
        estimand = "first decile of pytest-benchmark's rounds"
        return Benchmark(fullname, processes, estimand, fingerprint=fingerprint)
    if len(measured["processes"]) == 1 and measured.get("location_ns"):
        processes = (_summarized(path, fullname, measured),)
    else:
        processes = tuple(
            _process([[_time(path, fullname, number) for number in block] for block in process["blocks_ns"]])
            for process in measured["processes"]
            if process["blocks_ns"]
        )
    return Benchmark(
        fullname,
        processes,
        f"{measured.get('location', estimate.NAME)}, clock {measured['clock']}, "
        f"layouts {measured['layouts']}",
        tuple(_mode(path, fullname, mode) for mode in measured.get("modes", ())),
        ours.get("spec"),
        _text((ours.get("graph") or {}).get("content_hash")),
        _text(ours.get("code_hash")),
        _text(ours.get("definition_hash")),
        ours.get("counters"),
        fingerprint,
    )


def _summarized(path: Path, fullname: str, measured: Mapping[str, Any]) -> ProcessTiming:
    """Return the estimate and interval that were saved with the measurement."""
    numbers = [measured["location_ns"], measured["low_ns"], measured["high_ns"]]
    middle, low, high = (
        None if number is None else math.log(_time(path, fullname, number)) for number in numbers
    )
    assert middle is not None
    blocks = len(measured["processes"][0]["blocks_ns"])
    share = measured.get("others_share")
    if share is None and measured["clock"] in cpu.UNWATCHED_CLOCKS:
        share = 0.0
    return ProcessTiming(
        middle, _error(middle, low, high), blocks, None if share is None else json_io.finite(share)
    )


def _mode(path: Path, fullname: str, mode: Mapping[str, Any]) -> tuple[float, float]:
    return _time(path, fullname, mode["median_ns"]), json_io.finite(mode["share"])


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _process(blocks: list[list[float]]) -> ProcessTiming:
    found = estimate.estimate(estimate.block_values(blocks))
    low, high = (None if bound is None else float(np.log(bound)) for bound in (found.low, found.high))
    middle = math.log(found.location)
    return ProcessTiming(middle, _error(middle, low, high), len(blocks))


def _error(middle: float, low: float | None, high: float | None) -> float:
    """Return the standard error that corresponds to an interval of level `estimate.LEVEL`."""
    widths = [abs(bound - middle) for bound in (low, high) if bound is not None]
    return max(widths) / -float(special.ndtri((1 - estimate.LEVEL) / 2)) if widths else math.nan


def _time(path: Path, fullname: str, number: Any) -> float:
    try:
        return json_io.positive(number)
    except ValueError as error:
        _refuse(path, f"{fullname}: {error}")


def _refuse(path: Path, reason: str, remedy: str = _REMEDY) -> NoReturn:
    json_io.refuse(path, reason, remedy)
