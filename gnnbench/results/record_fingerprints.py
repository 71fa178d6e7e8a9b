"""The fingerprints of a record: its first file keeps each that all its processes agree on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import benchmark, run_file
from .benchmark import Benchmark
from .run_file import RunFile


def keep_once(contents: Sequence[dict[str, Any]]) -> None:
    """Keep a benchmark's fingerprint in the first file if all files have the same, and in no other file."""
    parts = [
        {name: entry["extra_info"]["gnnbench"] for name, entry in benchmark.entries(content).items()}
        for content in contents
    ]
    for name, first in parts[0].items():
        found = [part[name].pop("fingerprint", None) for part in parts]
        if found[0] and all(one and _same_code(one, found[0]) for one in found):
            first["fingerprint"] = found[0]


def read(files: Iterable[Path]) -> list[RunFile]:
    """Read run files; the processes of a record get the fingerprints of its first file.

    Raises:
        UsageError: a file cannot be used.
    """
    runs = [run_file.read(file) for file in files]
    firsts: dict[str | None, Mapping[str, Benchmark]] = {
        place: run.benchmarks
        for run in runs
        if (place := _place(run)) and run.part.record and run.part.record.process == 1
    }
    return [_with_fingerprints(run, firsts.get(_place(run), run.benchmarks)) for run in runs]


def _same_code(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return (one["code"], one["settings"]) == (other["code"], other["settings"])


def _place(run: RunFile) -> str | None:
    """Return the path without `_pK.json`, which the files of a record share; None: part of no record."""
    place, found, _ = str(run.path).rpartition("_p")
    return place if run.part.record and found else None


def _with_fingerprints(run: RunFile, of: Mapping[str, Benchmark]) -> RunFile:
    benchmarks = {}
    for name, one in run.benchmarks.items():
        first = of.get(name)
        part = replace(one.part, fingerprint=first.part.fingerprint if first else None)
        benchmarks[name] = replace(one, part=part)
    return replace(run, benchmarks=benchmarks)
