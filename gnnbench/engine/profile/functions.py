"""The kind `functions`: Python functions, by cProfile.

A function in C++ is one row with all that it does: `run_backward` is the whole backward pass. An operator
such as `@` counts in the function that contains it. Profiling slows down each Python call, so the times
overstate Python's share.
"""

import cProfile
import pstats
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..ground import units
from . import text
from .kinds import Subject

FILE = "functions.prof"
_SHOWN = 25
_COLUMNS = {"Function": -44, "Count": 7, "Self": 8, "Frac.": 6, "Cumulative": 10}


def take(subject: Subject, folder: Path) -> dict[str, Any]:
    """Profile the repeats after a first call, and save cProfile's data for pstats.

    Returns:
        `rows`, by cumulative time over all repeats: `function`, `place`, `calls`, `self_ns`,
        `cumulative_ns`. `total_ns`; `cold_ns`, the first call without a profile; `repeats`.
    """
    cold_ns = subject.timed_ns()
    profile = cProfile.Profile()
    for _ in range(subject.repeats):
        with subject.ready() as call:
            profile.runcall(call)
    profile.dump_stats(folder / FILE)
    stats: Mapping[Any, Any] = vars(pstats.Stats(profile))["stats"]
    rows = [
        {
            "function": name,
            "place": _place(file, line),
            "calls": calls,
            "self_ns": round(own * 1e9),
            "cumulative_ns": round(cumulative * 1e9),
        }
        for (file, line, name), (_, calls, own, cumulative, _) in stats.items()
        if "_lsprof.Profiler" not in name  # the call that ends the profile
    ]
    rows.sort(key=lambda row: (-row["cumulative_ns"], -row["self_ns"], row["place"]))
    total_ns = sum(row["self_ns"] for row in rows)
    return {"rows": rows, "total_ns": total_ns, "cold_ns": cold_ns, "repeats": subject.repeats}


def _place(file: str, line: int) -> str:
    """Return `file:line` relative to the folder on sys.path, the same on any machine; empty for C code."""
    if file == "~":
        return ""
    roots = [root for root in sys.path if root and file.startswith(f"{root}/")]
    return f"{file[len(max(roots, key=len)) + 1 :] if roots else file}:{line}"


def table(section: Mapping[str, Any]) -> str:
    """Return the first 25 functions as a table, by cumulative time."""
    rows, total_ns, repeats = section["rows"], section["total_ns"], section["repeats"]
    shown = [
        (
            _name(row),
            f"{row['calls']}",
            text.nanoseconds(row["self_ns"]),
            units.fraction(row["self_ns"] / total_ns),
            text.nanoseconds(row["cumulative_ns"]),
        )
        for row in rows[:_SHOWN]
    ]
    note = (
        f"Sums over {repeats} profiled calls of {text.nanoseconds(total_ns / repeats)} each. "
        f"{text.first_call(section)} Frac. is the fraction of self time; cumulative times overlap."
    )
    more = f"{len(rows) - len(shown)} more functions, and other orders: python -m pstats {FILE}"
    return text.page(text.table(_COLUMNS, shown), note, more)


def _name(row: Mapping[str, Any]) -> str:
    width = -_COLUMNS["Function"]
    if not row["place"]:
        return str(row["function"].removeprefix("<").removesuffix(">"))
    name = text.cut(row["function"], width // 2)
    return f"{name} {text.cut_start(row['place'], width - len(name) - 1)}"
