"""The kind `functions`: Python functions, by cProfile.

A function in C++ is one row with all that it does: `run_backward` is the whole backward pass. An operator
such as `@` counts in the function that contains it. Profiling slows down each Python call, so the times
overstate Python's share.
"""

import cProfile
import pstats
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import units
from ..errors import unknown_name
from ..measure.garbage import collector_paused
from .subject import Subject, cold_call_ns
from .tree import WIDTH

FILE = "functions.prof"
ORDERS = {"cumulative": "cumulative_ns", "self": "self_ns", "calls": "calls"}
"""Sort order of a table: the column that it sorts by."""

_KEPT = 200
_SHOWN = 25
_FUNCTION = 44


def take(subject: Subject, folder: Path) -> dict[str, Any]:
    """Profile the repeats after a first call, and save cProfile's data for pstats.

    Returns:
        `rows`, by cumulative time: the 200 functions with the most cumulative time, the 200 with the most
        self time and the 200 with the most calls, over all repeats. Each has `function`, `place`, `calls`,
        `primitive_calls` (the non-recursive ones), `self_ns` and `cumulative_ns`. `left_out` counts the other
        functions, `left_out_ns` is their self time. `total_ns`; `cold_ns`, the first call without a profile;
        `repeats`.
    """
    cold_ns = cold_call_ns(subject)
    profile = cProfile.Profile()
    with collector_paused():
        for _ in range(subject.repeats):
            with subject.ready():
                profile.runcall(subject.call)
    profile.dump_stats(folder / FILE)
    rows = _rows(pstats.Stats(profile))
    kept = {
        index
        for column in ORDERS.values()
        for index in sorted(range(len(rows)), key=lambda index: -rows[index][column])[:_KEPT]
    }
    return {
        "rows": [rows[index] for index in sorted(kept)],
        "left_out": len(rows) - len(kept),
        "left_out_ns": sum(row["self_ns"] for index, row in enumerate(rows) if index not in kept),
        "total_ns": sum(row["self_ns"] for row in rows),
        "cold_ns": cold_ns,
        "repeats": subject.repeats,
    }


def _rows(stats: pstats.Stats) -> list[dict[str, Any]]:
    found = stats.stats  # type: ignore[attr-defined]
    rows = [
        {
            "function": name,
            "place": _place(file, line),
            "calls": calls,
            "primitive_calls": primitive,
            "self_ns": round(own * 1e9),
            "cumulative_ns": round(cumulative * 1e9),
        }
        for (file, line, name), (primitive, calls, own, cumulative, _) in found.items()
        if "_lsprof.Profiler" not in name  # the call that ends the profile
    ]
    return sorted(rows, key=lambda row: (-row["cumulative_ns"], -row["self_ns"], row["place"]))


def _place(file: str, line: int) -> str:
    """Return `file:line` relative to the folder on sys.path, the same on any machine; empty for C code."""
    if file == "~":
        return ""
    roots = [root for root in sys.path if root and file.startswith(f"{root}/")]
    return f"{file[len(max(roots, key=len)) + 1 :] if roots else file}:{line}"


def table(section: Mapping[str, Any], by: str = "cumulative") -> str:
    """Return the first 25 functions as a table, sorted by `cumulative`, `self` or `calls`.

    Raises:
        UsageError: the order is unknown.
    """
    if by not in ORDERS:
        raise unknown_name("order", by, ORDERS)
    rows = sorted(section["rows"], key=lambda row: -row[ORDERS[by]])
    shown = rows[:_SHOWN]
    lines = [_line("Function", "Count", "Self", "Frac.", "Cumulative")]
    lines += [
        _line(
            _name(row),
            f"{row['calls']}",
            units.seconds(row["self_ns"] / 1e9),
            units.fraction(row["self_ns"] / section["total_ns"]),
            units.seconds(row["cumulative_ns"] / 1e9),
        )
        for row in shown
    ]
    more = len(rows) - len(shown) + section["left_out"]
    call_ns = section["total_ns"] / section["repeats"]
    note = (
        f"Sums over {section['repeats']} profiled calls of {units.seconds(call_ns / 1e9)} each, by {by}. "
        f"The first call, {units.seconds(section['cold_ns'] / 1e9)}, was not profiled. Frac. is the "
        "fraction of self time; cumulative times overlap."
    )
    more_note = f"{more} more functions: python -m pstats {FILE}"
    return "\n".join([*lines, textwrap.fill(note, WIDTH), more_note])


def _name(row: Mapping[str, Any]) -> str:
    name = row["function"].removeprefix("<").removesuffix(">")
    if not row["place"]:
        return _cut(name, _FUNCTION)
    name = _cut(f"{row['function']}", _FUNCTION // 2)
    room = _FUNCTION - len(name) - 1
    place = row["place"]
    return f"{name} {place if len(place) <= room else f'…{place[1 - room :]}'}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _line(function: str, calls: str, own: str, share: str, cumulative: str) -> str:
    return f"{function:<{_FUNCTION}} {calls:>7} {own:>8} {share:>6} {cumulative:>10}"
