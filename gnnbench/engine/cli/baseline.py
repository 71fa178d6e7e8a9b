"""`gnnbench baseline`: records timings for `pytest --benchmark-compare`, and shows them."""

import argparse
import json
import math
from operator import itemgetter
from typing import TYPE_CHECKING

from ..ground import units
from ..ground.errors import UsageError
from ..ground.options import Option, whole
from . import baseline_record, streams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..store.run_file import RunFile

PROCESSES = 2
_PROCESSES = Option("processes", "N", f"{PROCESSES}", whole, "be a whole number, as in 5").described(
    f"number of new processes. Default: {PROCESSES}; take 5 to compare times across sessions."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands."""
    parser.set_defaults(table=((_PROCESSES,), ()), processes=None)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    text = "run a suite in new processes and save the timings: record [-- PYTEST ARGS]"
    record = commands.add_parser("record", help=text, description=text)
    record.set_defaults(run=baseline_record.run)
    _PROCESSES.declare(record.add_argument)
    record.add_argument("--reason", default="", metavar="TEXT", help="reason for the new record, saved in it")
    text = "show the newest record: environment, commit, reason, times"
    show = commands.add_parser("show", help=text, description=text)
    show.set_defaults(run=_show)
    show.add_argument("--environment", metavar="NAME", help="environment of the record. Default: any.")


def _show(options: argparse.Namespace) -> int:
    from ..plugin.rootdir import rootdir, settled
    from ..show.document import Column, tables
    from ..show.names import labels_of
    from ..store import baseline

    store = baseline.RecordStore(rootdir(settled(options.rest)) / baseline.FOLDER)
    if not (records := store.records()):
        raise UsageError(f"there are no records in {store.root}; make one: gnnbench baseline record")
    if options.environment:
        known = ", ".join(sorted({record.environment for record in records}))
        records = store.records(options.environment)
        if not records:
            text = f"there are no records of environment {options.environment}; environments with records"
            raise UsageError(f"{text}: {known}")
    record = records[-1]
    runs = record.read()
    recorded = runs[0].part.record
    streams.say(f"record {record.id} of {record.environment}")
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
    rows = [run.benchmarks[name] for run in runs if name in run.benchmarks]
    processes = [process for benchmark in rows for process in benchmark.processes]
    logs = [process.log for process in processes]
    if not logs:
        return "not timed", "", ""
    middle = sum(logs) / len(logs)
    deviation = math.sqrt(sum((log - middle) ** 2 for log in logs) / max(len(logs) - 1, 1))
    disturbed = sum(not process.is_evidence for process in processes)
    marked = f"{disturbed} of {len(logs)}" if disturbed else ""
    return units.seconds(math.exp(middle) / 1e9), units.fraction(deviation), marked
