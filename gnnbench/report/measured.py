"""The time of a benchmark in a run file, as pages and exports show it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .. import units
from ..measure import estimate
from ..results.benchmark import Benchmark
from . import table

Side = Literal["base", "head"]


@dataclass(frozen=True)
class ProcessBlocks:
    """The blocks of one benchmark in one process."""

    side: Side
    blocks_ns: tuple[float, ...]
    """Median of each block (each has its own layout), in the order of measurement."""


@dataclass(frozen=True)
class Measured:
    """A benchmark's time and its interval."""

    seconds: float
    low_seconds: float | None
    """Lower bound of the interval; None, as `high_seconds`: too few blocks."""
    high_seconds: float | None
    level: float
    """Level of the interval."""
    location: str
    """Name of the estimate."""
    facts: tuple[tuple[str, str], ...] = ()
    """Further facts: name and value."""
    remarks: tuple[str, ...] = ()
    """Notes on the measurement."""


def time_of(one: Benchmark) -> Measured | None:
    """Return the time of a benchmark; None: nothing was measured, or in several processes."""
    measured = one.part.measurement
    if measured is None:
        return _plain(one)
    if len(measured.processes) != 1 or not measured.blocks_ns:
        return None
    measured.summarize()  # older files have an interval of another kind
    blocks = f"{len(measured.blocks_ns):,}"
    facts = [
        ("layouts", blocks if measured.layouts == "sampled" else f"{blocks} blocks on one layout"),
        ("calls in a round", f"{measured.iterations:,}"),
        ("clock", measured.clock),
        ("stopped by", str(measured.stopped_by)),
    ]
    if len(measured.modes) > 1:
        texts = (
            f"{units.seconds(mode.median_ns / 1e9)} ({units.fraction(mode.share)})" for mode in measured.modes
        )
        facts.append(("layout modes", ", ".join(texts)))
    if (growth := one.part.resident_growth_bytes) is not None:
        facts.append(("resident set", f"grows by {units.size(growth)} in a call"))
    level, name = estimate.SHOWN_LEVEL, estimate.NAME
    return Measured(*table.times(measured), level, name, tuple(facts), tuple(table.remarks(measured)))


def _plain(one: Benchmark) -> Measured | None:
    """Return the time from pytest-benchmark's rounds, or from its median; None: it has neither."""
    level, rounds = estimate.SHOWN_LEVEL, one.rounds_seconds
    if rounds:
        found = estimate.estimate(np.array(rounds))
        facts = (("rounds", f"{len(rounds):,}"),)
        remarks = (table.NO_INTERVAL,) if None in (found.low, found.high) else ()
        name = "first decile of the rounds"
        return Measured(found.location, found.low, found.high, level, name, facts, remarks)
    if one.median_seconds is None:
        return None
    return Measured(one.median_seconds, None, None, level, "median of pytest-benchmark")


def processes_of(one: Benchmark, side: Side) -> tuple[ProcessBlocks, ...]:
    """Return the blocks of each process; without gnnbench's part, pytest-benchmark's rounds."""
    measured = one.part.measurement
    if measured is None:
        rounds = tuple(seconds * 1e9 for seconds in one.rounds_seconds)
        return (ProcessBlocks(side, rounds),) if rounds else ()
    return tuple(
        ProcessBlocks(side, tuple(map(float, estimate.block_values(process.blocks_ns))))
        for process in measured.processes
        if process.blocks_ns
    )
