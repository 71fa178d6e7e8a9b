"""Read one benchmark of a run file."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .. import cpu, json_io
from ..measure import estimate, extra_info
from ..measure.fingerprint.fingerprint import Fingerprint
from ..shape import Maybe, fits
from ..workloads.spec import DIRECTIONS, Spec
from .entry import FORMAT_VERSION, NOT_TIMED

READABLE = (FORMAT_VERSION,)
PLAIN = "first decile of pytest-benchmark's rounds"

_SHAPES = {
    "spec": Maybe({**dict.fromkeys((one.name for one in fields(Spec)), str), "hidden": int}),
    "graph": Maybe({"content_hash": Maybe(str)}),
    "code_hash": Maybe(str),
    "definition_hash": Maybe(str),
    "no_fingerprint": Maybe(str),
    "counters": Maybe(
        {"counts": {str: {str: int}}, "unsteady": [str], "details": Maybe({"memory": Maybe({str: int})})}
    ),
}
"""Of the fields that are compared."""
_OBJECT = "UNSERIALIZABLE["
"""How pytest-benchmark's text of an object begins; its address may follow."""
_FINGERPRINT = {
    **{name: {str: str} for name in ("functions", "values", "libraries", "work", "set_to")},
    **{name: Maybe({str: str}) for name in ("closures", "modules")},
}


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
    memory: Mapping[str, int] | None = None
    """What one call allocates, as among the counters of the file; None: it was not counted."""
    fingerprint: Fingerprint | None = None
    """What one call runs; None: the file does not say."""
    params: Mapping[str, str] = field(default_factory=dict)
    """pytest's parameters as text, in the order of the test id."""
    median_ns: float | None = None
    """pytest-benchmark's median; None: gnnbench measured the benchmark, or the file has no median."""
    no_fingerprint: str | None = None
    """Why it has no fingerprint; None: it has one, or the file does not say."""
    fault: str | None = None
    """Why its times cannot be used; None: they can, or there are none."""

    @property
    def is_measured(self) -> bool:
        """Whether gnnbench measured it."""
        return bool(self.processes) and self.estimand != PLAIN


def entries(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the records of a run file's benchmarks, by fullname: of several with one name the first.

    What is no record of a benchmark with a name is not among them.
    """
    found: dict[str, dict[str, Any]] = {}
    for entry in content["benchmarks"]:
        if isinstance(entry, dict) and isinstance(name := entry.get("fullname"), str):
            found.setdefault(name, entry)
    return found


def read(entry: Mapping[str, Any]) -> Benchmark:
    """Read a benchmark's part of a run file; if it is damaged, the benchmark has a `fault` and no times.

    Args:
        entry: its record, see `entries`.
    """
    try:
        return _read(entry)
    except json_io.DAMAGE as error:
        return Benchmark(entry["fullname"], (), PLAIN, params=_params(entry), fault=json_io.damage(error))


def _read(entry: Mapping[str, Any]) -> Benchmark:
    ours = extra_info.part(entry.get("extra_info"))
    if ours and ours["version"] not in READABLE:
        raise ValueError(f"version {ours['version']} of the format, which this gnnbench cannot read")
    wrong = [name for name, shape in _SHAPES.items() if not fits(ours.get(name), shape)]
    if wrong:
        raise ValueError(f"its {wrong[0]} has another form")
    if (spec := ours.get("spec")) and Spec(**spec).direction not in DIRECTIONS:
        raise ValueError(f"unknown direction {spec['direction']!r}")
    params = _params(entry)
    fingerprint = Fingerprint.of_method(ours.get("fingerprint"))
    if fingerprint and not fits(ours["fingerprint"], _FINGERPRINT):
        raise ValueError("its fingerprint has another form")
    measured = ours.get("measurement")
    if measured is None:
        rounds = () if ours.keys() & NOT_TIMED else rounds_seconds(entry)
        processes = tuple(_process(part) for part in [[[one * 1e9] for one in rounds]] if part)
        return Benchmark(
            entry["fullname"],
            processes,
            PLAIN,
            fingerprint=fingerprint,
            params=params,
            median_ns=None if ours.keys() & NOT_TIMED else _median_ns(entry),
        )
    processes = tuple(
        _process([_block(block) for block in process["blocks_ns"]], _others_share(measured))
        for process in measured["processes"]
        if process["blocks_ns"]
    )
    return Benchmark(
        entry["fullname"],
        processes,
        f"{measured.get('location', estimate.NAME)}, clock {measured['clock']}, "
        f"layouts {measured['layouts']}",
        tuple(map(_mode, measured.get("modes", ()))),
        ours.get("spec"),
        (ours.get("graph") or {}).get("content_hash"),
        ours.get("code_hash"),
        ours.get("definition_hash"),
        ours.get("counters"),
        ((ours.get("counters") or {}).get("details") or {}).get("memory"),
        fingerprint,
        params,
        no_fingerprint=ours.get("no_fingerprint"),
    )


def rounds_seconds(entry: Mapping[str, Any]) -> list[float]:
    """Return pytest-benchmark's rounds; empty: the file does not have them.

    Raises:
        KeyError, ValueError: a round, or one that the file has the minimum of, is no time. Other rounds must
            not be used either: without the shortest ones, a low quantile is too long.
    """
    stats = entry["stats"]
    return [_round(seconds) for seconds in (stats.get("min", 1.0), *(stats.get("data") or ()))][1:]


def _median_ns(entry: Mapping[str, Any]) -> float | None:
    median = entry["stats"].get("median")
    return None if median is None else _round(median) * 1e9


def _round(seconds: Any) -> float:
    if seconds == 0:
        raise ValueError("a round took 0 s: the clock is too coarse")
    return json_io.positive(seconds)


def _params(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return pytest's parameters as text: of an object, such as a function, what the test id has for it."""
    params = json_io.fields(entry.get("params"))
    ids = str(entry.get("param") or "").split("-")
    known = ids if len(ids) == len(params) else [""] * len(params)
    return {
        name: one if one and _is_object(value) else str(value)
        for (name, value), one in zip(params.items(), known, strict=True)
    }


def _is_object(value: Any) -> bool:
    return isinstance(value, dict | list) or (isinstance(value, str) and value.startswith(_OBJECT))


def _mode(mode: Mapping[str, Any]) -> tuple[float, float]:
    if not 0 <= json_io.finite(mode["share"]) <= 1:
        raise ValueError(f"{mode['share']} is no share of layouts")
    return json_io.positive(mode["median_ns"]), float(mode["share"])


def _block(rounds: list[Any]) -> list[float]:
    if not rounds:
        raise ValueError("a block without rounds")
    return list(map(json_io.positive, rounds))


def _others_share(measured: Mapping[str, Any]) -> float | None:
    share = measured.get("others_share")
    if share is None:
        return 0.0 if measured["clock"] in cpu.UNWATCHED_CLOCKS else None
    return json_io.finite(share)


def _process(blocks: list[list[float]], others_share: float | None = 0.0) -> ProcessTiming:
    """Estimate the time of a process anew, because older files may have another kind of estimate."""
    values = estimate.block_values(blocks)
    location = estimate.estimate(values).location
    return ProcessTiming(math.log(location), estimate.standard_error(values), len(blocks), others_share)
