"""`gnnbench baseline`: records timings for `pytest --benchmark-compare`, and manages the records."""

import argparse
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from operator import itemgetter
from typing import TYPE_CHECKING

from ..ground import units
from ..ground.errors import UsageError
from . import baseline_record, streams

if TYPE_CHECKING:
    from ..store.baseline import Record, RecordStore
    from ..store.run_file import RunFile

PROCESSES = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands."""
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        return command

    record = add(
        "record",
        baseline_record.run,
        "run a suite in new processes and save the timings: record [-- PYTEST ARGS]",
    )
    record.add_argument(
        "--processes",
        type=int,
        default=PROCESSES,
        metavar="N",
        help=f"number of new processes. Default: {PROCESSES}; take 5 to compare times across sessions.",
    )
    record.add_argument("--reason", default="", metavar="TEXT", help="reason for the new record, saved in it")
    record.add_argument(
        "--name", metavar="NAME", help="name of the record, part of its file names. Default: the commit."
    )
    add("list", _list, "list the records of each environment")
    show = add("show", _show, "show one record: environment, commit, reason, times")
    show.add_argument("number", nargs="?", metavar="NNNN", help="number of the record. Default: the newest.")
    show.add_argument(
        "--environment",
        metavar="NAME",
        help="environment of the records. Default: this machine's if it has records, otherwise all.",
    )


def _store(options: argparse.Namespace) -> "RecordStore":
    """Return the store that `--benchmark-compare` reads, given the same arguments of pytest."""
    from ..plugin.rootdir import rootdir, settled
    from ..store import baseline
    from ..store.baseline import RecordStore

    return RecordStore(rootdir(settled(options.rest)) / baseline.FOLDER)


def _list(options: argparse.Namespace) -> int:
    from ..show.document import Column, Table

    store = _store(options)
    records = store.records()
    if not records:
        streams.say(f"there are no records in {store.root}; make one: gnnbench baseline record")
    titles = ("record", "name", "processes", "benchmarks", "commit", "reason")
    columns = [Column(title, "text") for title in titles]
    for name in store.environments():
        found = [record for record in records if record.environment == name]
        streams.show([Table(name, columns, [(one.id, one.name, *_summary(one)) for one in found])])
    return 0


def _summary(record: "Record") -> tuple[str, ...]:
    try:
        runs = record.read()
    except UsageError as error:
        return str(len(record.files)), "", "", f"cannot be used: {error}"
    reason = runs[0].part.record.reason if runs[0].part.record else ""
    if runs[0].shard:
        reason = "; ".join(filter(None, (f"shard {runs[0].shard}", reason)))
    return str(len(runs)), str(len(runs[0].benchmarks)), (runs[0].commit or "")[:10], reason


def _chosen(options: argparse.Namespace, store: "RecordStore") -> str | None:
    """Return the name of the chosen environment, or of this machine's; None if that has no records."""
    name, environments = options.environment, store.environments()
    if name and name not in environments:
        known = ", ".join(environments) or "none"
        raise UsageError(f"there are no records of environment {name}; environments with records: {known}")
    if name:
        return str(name)
    from ..ground import environment, packages

    environment.let_idle_threads_sleep()  # as the suite does
    packages.unusable("torch")  # imports it, where that works: the environment has its number of threads
    names = (environment.name(asdict(environment.collect(device=device))) for device in ("cpu", "cuda"))
    return next((name for name in names if name in environments), None)


def _show(options: argparse.Namespace) -> int:
    from ..show.document import Column, tables
    from ..show.names import labels_of

    store = _store(options)
    records = store.records(_chosen(options, store))
    if options.number:
        records = [record for record in records if record.id == options.number.zfill(4)]
    if not records:
        which = f"record {options.number}" if options.number else "records"
        raise UsageError(f"there is no {which} in {store.root}; gnnbench baseline list shows all records")
    record = records[-1]
    runs = record.read()
    recorded = runs[0].part.record
    streams.say(f"record {record.id} {record.name} of {record.environment}")
    streams.say(
        f"commit {runs[0].commit}, {f'shard {runs[0].shard}, ' if runs[0].shard else ''}"
        f"{units.count(len(runs), 'process')}; {(recorded and recorded.reason) or 'no reason given'}"
    )
    for key, value in (runs[0].environment or {}).items():
        streams.say(f"  {key}: {json.dumps(value)}", indent="    ")
    times = {name: _times(runs, name) for name in runs[0].benchmarks}
    columns = [Column(name, "number", itemgetter(place)) for place, name in enumerate(("time", "spread"))]
    columns.append(Column("disturbed", "number", itemgetter(2), seldom=True))
    streams.show(tables(labels_of(runs[0].benchmarks.values()), columns, times))
    return 0


def _times(runs: "Sequence[RunFile]", name: str) -> tuple[str, str, str]:
    """Return the mean time of a benchmark's processes, its standard deviation, and how many do not count."""
    found = [run.benchmarks[name] for run in runs if name in run.benchmarks]
    processes = [process for benchmark in found for process in benchmark.processes]
    logs = [process.log for process in processes]
    if not logs:
        return "not timed", "", ""
    middle = sum(logs) / len(logs)
    deviation = math.sqrt(sum((log - middle) ** 2 for log in logs) / max(len(logs) - 1, 1))
    disturbed = sum(not process.is_evidence for process in processes)
    marked = f"{disturbed} of {len(logs)}" if disturbed else ""
    return units.seconds(math.exp(middle) / 1e9), units.fraction(deviation), marked
