"""A saved run, read back: pytest-benchmark's JSON, with our part where it has one."""

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
from ..shard import Shard
from ..workloads.spec import Spec
from . import former_names
from .entry import FORMAT_VERSION

MAX_BYTES = 2**29
"""Of a file that is read: far more than any suite's samples need."""

READABLE = (FORMAT_VERSION,)
_REMEDY = "save it again"

_DIGEST = re.compile(rb'"digest": ?"([0-9a-f]{64})"')
_BLANK = b"0" * 64

_MACHINE = ("system", "machine", "python_implementation", "cpu.brand_raw", "cpu.arch", "cpu.count")
"""Fields of pytest-benchmark's `machine_info` that must be equal where a file has no record of ours."""


@dataclass(frozen=True)
class ProcessTiming:
    """What a process measured of one benchmark."""

    log: float
    """Natural logarithm of the location in nanoseconds."""
    error: float
    """Its standard error within the process; NaN where there were too few blocks."""
    blocks: int
    contention_share: float | None = 0.0
    """Part of the processors' time that other programs took meanwhile; 0 where nobody has to look, as on a
    GPU, or can, as in a file of pytest-benchmark alone. None: nobody looked."""

    @property
    def contended(self) -> bool:
        """Whether it is no evidence, because of them."""
        return (self.contention_share or 0.0) > cpu.CONTENDED

    @property
    def is_evidence(self) -> bool:
        """Whether it is known that they took little."""
        return self.contention_share is not None and not self.contended


@dataclass(frozen=True)
class Benchmark:
    """One benchmark of a run."""

    fullname: str
    processes: tuple[ProcessTiming, ...]
    """Empty: the file has no raw data of it."""
    estimand: str
    """What the location is, and of which clock and layouts."""
    modes: tuple[tuple[float, float], ...] = ()
    """Nanoseconds and share of each kind of layout."""
    spec: Mapping[str, Any] | None = None
    """None: not one of gnnbench's own."""
    graph_hash: str | None = None
    code_hash: str | None = None
    counters: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class RunFile:
    """A file, checked."""

    path: Path
    benchmarks: Mapping[str, Benchmark]
    """By fullname."""
    environment: Mapping[str, Any] | None
    """Of gnnbench; None in a file of pytest-benchmark alone."""
    machine: Mapping[str, Any]
    """What pytest-benchmark says of the machine, the fields of it that matter."""
    commit: str | None
    incomplete: tuple[str, ...]
    """Benchmarks that were cut short."""
    record: Mapping[str, Any] | None
    """Of a baseline: what it is a part of."""
    shard: Shard | None = None
    """Part of the suite that it has; None: all that was asked for."""
    covers: tuple[str, ...] = ()
    """Folders and files, relative to rootdir, of which no benchmark was left out but other shards'."""


def read(path: Path) -> RunFile:
    """Read a file.

    Raises:
        UsageError: it is missing, too large, cut off, of another form or version, or was changed by hand.
    """
    return parse(path, load(path))


def load(path: Path) -> dict[str, Any]:
    """Return a file's content, known to be JSON, of a readable version and unchanged since it was recorded.

    Raises:
        UsageError: as `read`.
    """
    return check(path, *former_names.read(path, "run file", MAX_BYTES, _REMEDY))


def check(path: Path, content: Any, raw: bytes) -> dict[str, Any]:
    """Return a file's content, of a readable version and unchanged since it was recorded.

    Args:
        path: where it comes from, for messages.
        content: as it was read from JSON.
        raw: the bytes that it was read from.

    Raises:
        UsageError: it is something else.
    """
    if not isinstance(content, dict) or not isinstance(content.get("benchmarks"), list):
        _refuse(path, "not a run file of pytest-benchmark: it has no list of benchmarks")
    ours = content.get("gnnbench")
    if ours is not None:
        version = ours.get("version") if isinstance(ours, dict) else None
        if version not in READABLE:
            _refuse(
                path,
                f"version {version!r} of the format, and this gnnbench reads {', '.join(map(str, READABLE))}",
                "use the gnnbench that wrote it, or record again",
            )
        if "record" in ours and not _unchanged(raw):
            _refuse(path, "changed since it was recorded", "restore it: git checkout -- FILE")
    return content


def parse(path: Path, content: Mapping[str, Any]) -> RunFile:
    """Check a run file's content.

    Args:
        path: where it comes from, for messages.
        content: as `load` returns it.

    Raises:
        UsageError: it is of another form.
    """
    try:
        return _run(path, content)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        _refuse(path, f"not a run file of pytest-benchmark: {what}")


def seal(content: dict[str, Any]) -> str:
    """Return the text of a baseline's file, whose record carries a digest of the rest of it."""
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
        environment.name(ours["environment"])  # has the fields that are compared
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
    )


def shard_of(path: Path, text: str | None) -> Shard | None:
    """Return the part of the suite that a file says it has.

    Raises:
        UsageError: there is no such part.
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
        Spec(**spec)  # has these fields and no others
    if counters := ours.get("counters"):
        counters["counts"].items(), list(counters["unsteady"])
    if "version" in ours and ours["version"] not in READABLE:
        _refuse(
            path, f"{fullname}: version {ours['version']!r} of the format, which this gnnbench cannot read"
        )
    measured = ours.get("measurement")
    if measured is None:
        blocks = [[_time(path, fullname, seconds) * 1e9] for seconds in entry["stats"].get("data", ())]
        processes = tuple(_process(part) for part in [blocks] if part)
        return Benchmark(fullname, processes, "first decile of pytest-benchmark's rounds")
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
        ours.get("counters"),
    )


def _summarized(path: Path, fullname: str, measured: Mapping[str, Any]) -> ProcessTiming:
    """Take the location and its interval as they were computed when it was measured."""
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
    """Return the standard error that an interval of the location's level stands for."""
    widths = [abs(bound - middle) for bound in (low, high) if bound is not None]
    return max(widths) / -float(special.ndtri((1 - estimate.LEVEL) / 2)) if widths else math.nan


def _time(path: Path, fullname: str, number: Any) -> float:
    try:
        return json_io.positive(number)
    except ValueError as error:
        _refuse(path, f"{fullname}: {error}")


def _refuse(path: Path, reason: str, remedy: str = _REMEDY) -> NoReturn:
    json_io.refuse(path, reason, remedy)
