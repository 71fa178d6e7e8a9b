"""What a page shows of gnnbench's part of a benchmark in a run file."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import units
from ..json_io import finite, positive
from ..measure import estimate, extra_info
from ..measure.measurement import summary
from ..results.benchmark import rounds_seconds
from . import table
from .names import clean
from .view import CallCounts, Limit, Measured, ProcessBlocks, Side

_LIBRARY_KINDS = ("operators", "library_calls")


def level(value: Any) -> float:
    """Return a confidence level.

    Raises:
        ValueError: the value is not between 0 and 1.
    """
    if not 0 < finite(value) < 1:
        raise ValueError(f"{value} is not a confidence level")
    return float(value)


def ours(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return gnnbench's part of a benchmark's record; empty: it has none."""
    return extra_info.part(entry.get("extra_info"))


def time_of(entry: Mapping[str, Any]) -> Measured | None:
    """Return the time in a benchmark's record; None: nothing was measured."""
    measured = ours(entry).get("measurement")
    if measured is None:
        return _plain(entry)
    blocks = [process["blocks_ns"] for process in measured["processes"] if process["blocks_ns"]]
    if len(blocks) != 1:
        return None
    measured = {**measured, **summary(blocks[0])}  # older files have an interval of another kind
    middle, low, high = (measured[name] for name in ("location_ns", "low_ns", "high_ns"))
    facts = [
        (
            "layouts",
            f"{len(blocks[0]):,}{'' if measured['layouts'] == 'sampled' else ' blocks on one layout'}",
        ),
        ("calls in a round", f"{int(finite(measured['iterations'])):,}"),
        ("clock", clean(measured["clock"])),
        ("stopped by", clean(measured["stopped_by"])),
    ]
    if len(measured.get("modes", ())) > 1:
        texts = (
            f"{units.seconds(finite(mode['median_ns']) / 1e9)} ({units.fraction(finite(mode['share']))})"
            for mode in measured["modes"]
        )
        facts.append(("layout modes", ", ".join(texts)))
    if (growth := ours(entry).get("resident_growth_bytes")) is not None:
        facts.append(("resident set", f"grows by {units.size(int(finite(growth)))} in a call"))
    return Measured(
        positive(middle) / 1e9,
        None if low is None else positive(low) / 1e9,
        None if high is None else positive(high) / 1e9,
        estimate.SHOWN_LEVEL,
        estimate.NAME,
        tuple(facts),
        tuple(map(clean, table.remarks(measured))),
    )


def _plain(entry: Mapping[str, Any]) -> Measured | None:
    """Return the time from pytest-benchmark's rounds, or from its median; None: it has neither."""
    stats = entry["stats"]
    rounds = rounds_seconds(entry)
    if rounds:
        found = estimate.estimate(np.array(rounds))
        facts = (("rounds", f"{len(rounds):,}"),)
        remarks = (table.NO_INTERVAL,) if None in (found.low, found.high) else ()
        return Measured(
            found.location,
            found.low,
            found.high,
            estimate.SHOWN_LEVEL,
            "first decile of the rounds",
            facts,
            remarks,
        )
    if stats.get("median") is None:
        return None
    return Measured(positive(stats["median"]), None, None, estimate.SHOWN_LEVEL, "median of pytest-benchmark")


def processes_of(entry: Mapping[str, Any], side: Side) -> tuple[ProcessBlocks, ...]:
    """Return the blocks of each process; without gnnbench's part, pytest-benchmark's rounds."""
    measured = ours(entry).get("measurement")
    if measured is None:
        rounds = tuple(seconds * 1e9 for seconds in rounds_seconds(entry))
        return (ProcessBlocks(side, rounds),) if rounds else ()
    return tuple(
        ProcessBlocks(side, tuple(map(float, estimate.block_values(process["blocks_ns"]))))
        for process in measured["processes"]
        if process["blocks_ns"]
    )


def work_of(entry: Mapping[str, Any]) -> CallCounts | None:
    """Return the counters of one call; None: it was not counted."""
    counters = ours(entry).get("counters")
    if not counters:
        return None
    counts = counters["counts"]
    found = [
        (clean(name), int(finite(count)))
        for kind in _LIBRARY_KINDS
        for name, count in counts.get(kind, {}).items()
    ]
    memory = counters["details"].get("memory", {})
    return CallCounts(
        tuple(sorted(found, key=lambda one: -one[1])),
        sum(int(finite(count)) for count in counts.get("operators", {}).values()),
        int(finite(counters["host_reads"])),
        *(
            None if memory.get(name) is None else int(finite(memory[name]))
            for name in ("peak_bytes", "allocated_bytes")
        ),
    )


def limit_of(entry: Mapping[str, Any]) -> Limit | None:
    """Return the roofline bound; None: unknown."""
    limit = ours(entry).get("limit")
    if not limit:
        return None
    least = limit["least"]
    return Limit(
        finite(limit["fraction"]),
        int(finite(least["bytes"])),
        int(finite(least["flops"])),
        clean(limit["note"]),
    )
