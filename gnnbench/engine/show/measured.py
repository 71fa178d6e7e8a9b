"""The time of a benchmark with its interval, facts and notes, as tables and pages show them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..ground import units
from ..ground.cpu import CONTENDED
from ..measure import estimate
from ..measure.measurement import Measurement
from ..store.run_file import Benchmark
from .document import Shown
from .names import abridge, merge_notes

NO_INTERVAL = "no interval ('?'), as there are too few measurements: raise --benchmark-max-time or --gnn-time"
_DISTURBED = f"other programs used more than {CONTENDED:.0%} of the CPU time: stop them and run again"
_IN_PLACE = "inputs are not copied between blocks, so another run may differ by more than the interval"
_ACTIONABLE = (_DISTURBED, NO_INTERVAL)
"""Notes that say what to do; they come first."""


@dataclass(frozen=True)
class Measured:
    """A benchmark's time and its interval."""

    seconds: float
    interval: tuple[float, float] | None
    """The bounds in seconds. None if there are too few blocks."""
    location: str
    """Which statistic `seconds` is, such as `10% quantile of the rounds`."""
    facts: tuple[tuple[str, str], ...] = ()
    """Names and values of further facts."""
    remarks: tuple[str, ...] = ()
    blocks: tuple[float, ...] = ()
    """Medians of the blocks in seconds, or else pytest-benchmark's rounds."""


def time_of(benchmark: Benchmark) -> Measured | None:
    """Return the time of a benchmark. Returns None if no process measured it, or more than one."""
    measured = benchmark.part.measurement
    if measured is None:
        return _plain(benchmark)
    if len(measured.processes) != 1 or not measured.blocks_ns:
        return None
    measured.summarize()
    blocks = f"{len(measured.blocks_ns):,}"
    facts = [
        ("layouts", blocks if measured.layouts == "sampled" else f"{blocks} blocks on one layout"),
        ("calls in a round", f"{measured.iterations:,}"),
        ("clock", measured.clock),
        ("stopped by", str(measured.stopped_by)),
    ]
    if measured.processes[0].has_gpu_time:
        wall = float(np.median(estimate.block_values(measured.blocks_ns)))
        facts.append(("wall time", f"{units.seconds(wall / 1e9)}; the time is the GPU's own"))
    seconds, low, high = times(measured)
    return Measured(
        seconds,
        (low, high) if low and high else None,
        "10% quantile of the block medians",
        tuple(facts),
        tuple(remarks(measured)),
        tuple((estimate.block_values(measured.processes[0].times_ns) / 1e9).tolist()),
    )


def _plain(benchmark: Benchmark) -> Measured | None:
    """Return the time from pytest-benchmark's rounds, or else its median. None if both are missing."""
    if rounds := benchmark.rounds_seconds:
        summary = estimate.estimate(np.array(rounds))
        interval = (summary.low, summary.high) if summary.low and summary.high else None
        facts, remarks = (("rounds", f"{len(rounds):,}"),), () if interval else (NO_INTERVAL,)
        return Measured(summary.location, interval, "10% quantile of the rounds", facts, remarks, rounds)
    if benchmark.median_seconds is None:
        return None
    return Measured(benchmark.median_seconds, None, "median of pytest-benchmark")


def times(measured: Measurement) -> tuple[float, float | None, float | None]:
    """Return the time and the bounds of its interval, in seconds; the measurement must have blocks."""
    assert measured.location_ns
    low, high = (ns and ns / 1e9 for ns in (measured.low_ns, measured.high_ns))
    return measured.location_ns / 1e9, low, high


def half_width(middle: float, low: float | None, high: float | None) -> Shown:
    """Return the larger half-width of an interval as a fraction of the estimate; `?` without bounds."""
    if low is None or high is None:
        return Shown("?")
    width = max(high - middle, middle - low) / middle
    return Shown(units.fraction(width), width)


def notes(by_benchmark: Iterable[tuple[str, Sequence[str]]], benchmarks: int, verbosity: int) -> list[str]:
    """Return each distinct note of a session once; notes that say what to do come first."""
    hint = None if verbosity > 0 else " (-v names them)"
    lines = sorted(
        merge_notes(by_benchmark, benchmarks, hint), key=lambda line: not line.startswith(_ACTIONABLE)
    )
    return abridge(lines, verbose=verbosity > 0)


def remarks(measured: Measurement) -> list[str]:
    only_timed = measured.whole_call
    conditions = {
        _DISTURBED: (measured.contention_share or 0) > CONTENDED,
        NO_INTERVAL: None in (measured.low_ns, measured.high_ns),
        f"only timed, so the columns ops, peak and sync are empty: {only_timed}": only_timed,
        f"{_IN_PLACE}: {measured.in_place}": measured.in_place and not only_timed,
        "the benchmark changes its inputs, so each call sees different values": measured.changes_inputs,
    }
    not_copied = [f"inputs of this type are not copied: {name}" for name in measured.not_copied]
    return [*not_copied, *(remark for remark, holds in conditions.items() if holds)]
