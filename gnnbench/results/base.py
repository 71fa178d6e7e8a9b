"""The older side of a run that is judged: of each benchmark the newest record that has it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from ..errors import UsageError
from .baseline import Record, RecordStore
from .run_file import Benchmark, RunFile

_CHOSEN = ("platform", "dtype", "index_dtype", "dataset", "hidden", "device")
"""Fields of a spec that options choose."""


@dataclass(frozen=True)
class Base:
    """What a run is compared with."""

    runs: Sequence[RunFile]
    """Processes of all records that take part, with the benchmarks for which their record stands."""
    records: Mapping[str, Record]
    """By benchmark."""


def choose(records: Iterable[Record], head: Collection[str], places: Sequence[str]) -> Base:
    """Read records until all is known that a run is compared with.

    A benchmark that the run lacks is taken from a record too, for it may have vanished; but not where a newer
    record lacks it as well, though it covers its file: so it went before that was recorded.

    Args:
        records: of the run's environment, the newest first.
        head: benchmarks of the run.
        places: folders and files that the run was asked for, relative to rootdir.

    Raises:
        UsageError: a record cannot be used.
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


def superseded(store: RecordStore, keep: int, left_alone: Callable[[str], None]) -> list[Record]:
    """Return the records that may go: those that lack files, and those that nothing will be compared with.

    Args:
        store: where they are.
        keep: records of each benchmark that stay; a newer record that lacks it, see `choose`, counts as one.
        left_alone: is told of each record that cannot be read, as by this version, and so stays too.
    """
    found = []
    for name in store.environments():
        newer: list[RunFile] = []
        for record in reversed(store.records(name)):
            try:
                run = record.read()[0]
            except UsageError as error:
                if record.lacks_files():
                    found.append(record)
                else:
                    left_alone(str(error))
                continue
            if all(_counted(newer, benchmark) >= keep for benchmark in run.benchmarks.values()):
                found.append(record)
            newer.append(run)
    return found


def _counted(newer: Sequence[RunFile], benchmark: Benchmark) -> int:
    return sum(benchmark.fullname in run.benchmarks or lacks(run, benchmark) for run in newer)


def covers(run: RunFile, place: str) -> bool:
    """Tell whether a run left nothing out of a folder or file, but what belongs to other shards."""
    return any(PurePosixPath(place).is_relative_to(whole) for whole in run.covers)


def lacks(run: RunFile, benchmark: Benchmark) -> bool:
    """Tell whether a run would have had a benchmark, had there been one, and has it not."""
    name, spec = benchmark.fullname, benchmark.spec
    if name in run.benchmarks or not covers(run, name.partition("::")[0]):
        return False
    if run.shard and not run.shard.has(name):
        return False
    others = [other.spec for other in run.benchmarks.values() if other.spec]
    return spec is None or all(spec[field] in {other[field] for other in others} for field in _CHOSEN)


def _only(run: RunFile, names: Collection[str]) -> RunFile:
    return replace(run, benchmarks={name: one for name, one in run.benchmarks.items() if name in names})
