"""What is left out of run files, in lines: a fault in one benchmark does not cost the others."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import json_io, units
from ..errors import one_line
from .benchmark import Benchmark

_NAMED = 3
"""Most names in a line; others are counted."""


def lines(entries: Sequence[Any], found: Mapping[str, Benchmark]) -> tuple[str, ...]:
    """Return what is left out of a run file, a line for each reason.

    Args:
        entries: the file's list of benchmarks.
        found: those that are read, by fullname.
    """
    names = [entry.get("fullname") if isinstance(entry, dict) else None for entry in entries]
    named = [name for name in names if isinstance(name, str)]
    again = list((Counter(named) - Counter(list(found))).elements())
    reasons: dict[str, list[str]] = {}
    for name, one in found.items():
        if one.fault:
            reasons.setdefault(one.fault, []).append(name)
    said = [
        f"the times of {_benchmarks(faulty)} ({reason}): {_listed(faulty)}"
        for reason, faulty in reasons.items()
    ]
    if again:
        what = f"{_benchmarks(again)} with the name of an earlier one (a test that times two calls?)"
        said.append(f"{what}: {_listed(again)}")
    if nameless := len(names) - len(named):
        said.append(f"{units.count(nameless, 'benchmark')} without a name")
    return tuple(json_io.clipped(f"left out {one}") for one in said)


def by_file(found: Iterable[tuple[Path, Sequence[str]]]) -> list[str]:
    """Return each line of `lines` once, after the files that it is about."""
    files: dict[str, list[str]] = {}
    for path, said in found:
        for line in said:
            files.setdefault(line, []).append(str(path))
    return [one_line(f"{_listed(paths)}: {line}") for line, paths in files.items()]


def _benchmarks(names: Sequence[str]) -> str:
    return units.count(len(names), "benchmark")


def _listed(names: Sequence[str]) -> str:
    return units.listed(list(dict.fromkeys(names)), _NAMED)
