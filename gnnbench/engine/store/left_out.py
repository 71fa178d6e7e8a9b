"""What is left out of run files, in lines: a fault in one benchmark does not cost the others."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..ground import json_io, units
from ..ground.errors import one_line

if TYPE_CHECKING:
    from .benchmark import Benchmark

_NAMED = 3
"""Most names in a line; others are counted."""


def lines(entries: Sequence[Any], found: "Mapping[str, Benchmark]") -> tuple[str, ...]:
    """Return what is left out of a run file, a line for each reason."""
    names = [entry.get("fullname") if isinstance(entry, dict) else None for entry in entries]
    named = [name for name in names if isinstance(name, str)]
    again = list((Counter(named) - Counter(list(found))).elements())
    reasons: dict[str, list[str]] = {}
    for name, one in found.items():
        if one.fault:
            reasons.setdefault(one.fault, []).append(name)
    said = [
        json_io.clipped(f"left out the times of {_benchmarks(faulty)} ({reason}): {_listed(faulty)}")
        for reason, faulty in reasons.items()
    ]
    if again:
        said.append(line("with the name of an earlier one (a test that times two calls?)", again))
    if nameless := len(names) - len(named):
        said.append(f"left out {units.count(nameless, 'benchmark')} without a name")
    return tuple(said)


def line(which: str, names: Sequence[str]) -> str:
    """Return the line on benchmarks that are left out."""
    return json_io.clipped(f"left out {_benchmarks(names)} {which}: {_listed(names)}")


def several(names: Iterable[str]) -> list[str]:
    """Return a line on tests that time several calls under their one name; none, if there are no such."""
    found = list(dict.fromkeys(names))
    what = "of several benchmarks in one test only the first counts; give each a test of its own"
    return [json_io.clipped(f"{what}: {_listed(found)}")] if found else []


def by_file(found: Iterable[tuple[Path, Sequence[str]]]) -> list[str]:
    """Return each line of `lines` once, after the files that it is about."""
    files: dict[str, list[str]] = {}
    for path, said in found:
        for one in said:
            files.setdefault(one, []).append(str(path))
    return [one_line(f"{_listed(paths)}: {one}") for one, paths in files.items()]


def _benchmarks(names: Sequence[str]) -> str:
    return units.count(len(names), "benchmark")


def _listed(names: Sequence[str]) -> str:
    return units.listed(list(dict.fromkeys(names)), _NAMED)
