"""The kind `functions`: Python functions, by cProfile, which overstates their share.

A function in C++ is one row with all that it does: `run_backward` is the whole backward pass. An operator
such as `@` counts in the function that contains it.
"""

import cProfile
import pstats
import sys
from pathlib import Path
from typing import Any

from .kinds import Subject

FILE = "functions.prof"


def functions(subject: Subject, folder: Path) -> dict[str, Any]:
    """Profile the repeats after a first call, and save cProfile's data for pstats."""
    cold_ns = subject.timed_ns()
    profile = cProfile.Profile()
    for _ in range(subject.repeats):
        with subject.ready() as call:
            profile.runcall(call)
    profile.dump_stats(folder / FILE)
    rows: list[dict[str, Any]] = []
    stats = vars(pstats.Stats(profile))["stats"]
    for (file, line, name), (_, calls, own, cumulative, _) in stats.items():
        if "_lsprof.Profiler" not in name:  # the call that ends the profile
            times = {"self_ns": round(own * 1e9), "cumulative_ns": round(cumulative * 1e9)}
            rows.append({"function": name, "place": _place(file, line), "calls": calls, **times})
    rows.sort(key=lambda row: (-row["cumulative_ns"], -row["self_ns"], row["place"]))
    total_ns = sum(row["self_ns"] for row in rows)
    return {"rows": rows, "total_ns": total_ns, "cold_ns": cold_ns, "repeats": subject.repeats}


def _place(file: str, line: int) -> str:
    """Return `file:line` relative to the folder on sys.path, the same on any machine; empty for C code."""
    if file == "~":
        return ""
    roots = [root for root in sys.path if root and file.startswith(f"{root}/")]
    return f"{file[len(max(roots, key=len)) + 1 :] if roots else file}:{line}"
