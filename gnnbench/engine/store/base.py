"""Choose the baseline of a run: for each benchmark, the newest record that has it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from .baseline import Record
from .benchmark import Benchmark
from .run_file import RunFile


@dataclass(frozen=True)
class Base:
    """The baseline of a run."""

    runs: Sequence[RunFile]
    """Processes of the chosen records, each with the benchmarks for which its record was chosen."""
    records: Mapping[str, Record]
    """Chosen record by benchmark."""

    def renamed(self, names: Mapping[str, str]) -> "Base":
        """Return it with the names that benchmarks have today; `names` has the saved ones by these."""
        today = dict.fromkeys(self.records) | {then: now for now, then in names.items()}
        runs = []
        for run in self.runs:
            rows = [replace(row, fullname=today[name] or name) for name, row in run.benchmarks.items()]
            runs.append(replace(run, benchmarks={row.fullname: row for row in rows}))
        return Base(runs, {today[name] or name: record for name, record in self.records.items()})


def choose(records: Iterable[Record], head: Collection[str], places: Sequence[str]) -> Base:
    """Read records until the baseline of a run is complete.

    It includes benchmarks that the run lacks: they are reported as missing. A benchmark that a newer record
    lacks too, although that record covers its file, is left out: it was removed earlier.
    """
    runs: list[RunFile] = []
    newer: list[RunFile] = []
    found: dict[str, Record] = {}
    for record in records:
        processes = record.read()
        known = processes[0].benchmarks
        names = {
            name
            for name, benchmark in known.items()
            if name not in found and (name in head or not any(lacks(run, benchmark) for run in newer))
        }
        if names:
            runs.extend(_only(run, names) for run in processes)
        found.update(dict.fromkeys(names, record))
        newer.append(processes[0])
        if found.keys() >= set(head) and all(any(covers(run, place) for run in newer) for place in places):
            break
    return Base(runs, found)


def covers(run: RunFile, place: str) -> bool:
    """Tell whether a run includes all benchmarks of a folder or file, apart from other shards.

    If it is a run of the default benchmarks, it includes these.
    """
    return any(PurePosixPath(place).is_relative_to(whole) for whole in run.part.covers)


def lacks(run: RunFile, benchmark: Benchmark) -> bool:
    """Tell whether a run lacks a benchmark although its file and its options were selected.

    What was left out because it is not a default benchmark is not lacking.
    """
    name, labels = benchmark.fullname, benchmark.labels
    if name in run.benchmarks or name in run.part.not_default or not covers(run, name.partition("::")[0]):
        return False
    if run.shard and not run.shard.has(name):
        return False
    others = [other.labels.fields for other in run.benchmarks.values() if other.labels]
    return labels is None or all(
        labels.fields.get(field) in {other.get(field) for other in others}
        for field in ("platform", *labels.inputs)  # which options select
    )


def _only(run: RunFile, names: Collection[str]) -> RunFile:
    return replace(run, benchmarks={name: one for name, one in run.benchmarks.items() if name in names})


def matches(base: Mapping[str, Benchmark], head: Mapping[str, Benchmark]) -> dict[str, str]:
    """Return the names in the base, by those in the head, of benchmarks that the other side lacks.

    Two belong together if they run the same code, or have the same definition and parameters.
    """
    names: dict[str, str] = {}
    for by_code, by_definition in ((True, True), (True, False), (False, True)):
        free: dict[object, list[str]] = {}
        for name, row in base.items():
            if name not in names.values() and (key := _key(row, code=by_code, definition=by_definition)):
                free.setdefault(key, []).append(name)
        for name, row in head.items():
            alike = free.get(_key(row, code=by_code, definition=by_definition))
            if alike and name not in names:
                ratios = {other: SequenceMatcher(None, other, name).ratio() for other in alike}
                names[name] = max(alike, key=ratios.__getitem__)
                alike.remove(names[name])
    return names


def _key(row: Benchmark, *, code: bool, definition: bool) -> object:
    """Return what both must have alike; None if it is not known."""
    fingerprint, of_test = row.part.comparable_fingerprint, row.part.definition_hash
    if (code and not fingerprint) or (definition and not of_test):
        return None
    of_code = fingerprint.code if code and fingerprint else None
    return of_code, (of_test, *row.params.items()) if definition else None
