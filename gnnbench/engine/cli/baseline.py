"""`gnnbench baseline`: records timings for `pytest --benchmark-compare`, and shows them."""

import argparse
import json
import math
import shlex
import statistics
import sys
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..ground import codec, git, json_io, units
from ..ground.cpu import RealTime
from ..ground.errors import UsageError, unknown_name
from ..ground.options import Option, whole_number
from ..show.lines import Note
from ..show.progress import Progress
from . import streams
from .common import NOTHING_SLOWER, suite

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..store.run_file import RunFile

PROCESSES = 2
_PROCESSES = Option("processes", "N", f"{PROCESSES}", whole_number, "be a whole number, as in 5").described(
    f"number of new processes. Default: {PROCESSES}; use 5 to compare times across sessions."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(table=((_PROCESSES,), ()), processes=None)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="what")
    text = "runs the suite in new processes, and saves the timings."
    usage = "gnnbench baseline record [-- PYTEST ARGS]"
    record = commands.add_parser("record", help=text, description=f"{usage}: {text}")
    record.set_defaults(parser=record)
    _PROCESSES.declare(record.add_argument)
    record.add_argument("--reason", default="", metavar="TEXT", help="why the record is made")
    text = "shows the newest record: environment, commit, reason, times."
    show = commands.add_parser("show", help=text, description=f"gnnbench baseline show: {text}")
    show.set_defaults(parser=show)
    show.add_argument("--environment", metavar="NAME", help="show a record of this environment only")


def run(options: argparse.Namespace) -> int:
    """Record, or show a record, and return the exit code."""
    return _record(options) if options.what == "record" else _show(options)


def _record(options: argparse.Namespace) -> int:
    """Run the processes, save the record, and return the exit code."""
    from pytest_benchmark.utils import get_machine_id

    from ..ground import environment
    from ..ground.files import check_folder, scratch
    from ..plugin.rootdir import rootdir
    from ..process.variants import fresh
    from ..store import baseline, run_file

    if options.processes < 2:  # noqa: PLR2004
        raise UsageError(
            "--processes must be at least 2: one process cannot show the variation between processes"
        )
    arguments = suite(options.rest, "gnnbench baseline record")
    root = rootdir(arguments)
    if environment.collect(root).dirty:
        raise UsageError("tracked files have uncommitted changes; commit or stash them, then record")
    store = baseline.RecordStore(root / baseline.FOLDER)
    check_folder(store.root)
    with scratch() as folder, Progress() as progress:
        runs = _runs(arguments, options.processes, folder, progress)
        contents = [_as_recorded(json_io.read(run.path, run_file.REMEDY), runs[0].benchmarks) for run in runs]
    record = store.save(contents, get_machine_id(), (runs[0].commit or "unversioned")[:10], options.reason)
    if reason := git.why_no_commit(root):
        line = f"gnnbench: recorded without a commit, so this code cannot be rebuilt later: {reason}"
        streams.say(line, sys.stderr)
    if warning := baseline.contention_note(runs):
        streams.say(f"gnnbench: {warning}", sys.stderr)
    count, processes = units.count(len(runs[0].benchmarks), "benchmark"), len(record.files)
    streams.say(f"recorded {count} in {processes} processes: record {record.id} of {record.environment}")
    command = fresh.shell_command([*arguments, "--benchmark-compare"], Path.cwd())
    streams.say(Note("to compare with it", command))
    return NOTHING_SLOWER


def _runs(arguments: "Sequence[str]", processes: int, folder: Path, progress: Progress) -> "list[RunFile]":
    """Time the suite in new processes, and return the run of each process."""
    from ..process.variants import fresh
    from ..store import baseline, run_file

    has_layouts = any(argument.startswith("--gnn-layouts") for argument in arguments)
    layouts = () if has_layouts else ("--gnn-layouts", "sample")  # the default of --benchmark-compare
    runs: list[RunFile] = []
    printed: set[str] = set()
    for number in range(1, processes + 1):
        title = f"process {number} of {processes}: pytest {shlex.join(arguments)}"
        start, output = RealTime.seconds(), folder / f"{number}.json"
        progress.step(title)
        lines = fresh.run([*arguments, *layouts], output, Path.cwd(), number, progress)
        for line in dict.fromkeys(lines):
            if line not in printed:
                progress.say(line)
        printed.update(lines)
        progress.print(f"{title}: {units.seconds(RealTime.seconds() - start)}")
        runs.append(baseline.only_measured(run_file.read(output)))
        if reason := baseline.mismatch(runs):
            raise UsageError(f"nothing was recorded: {reason}")
    return runs


def _as_recorded(content: dict[str, Any], names: "Collection[str]") -> dict[str, Any]:
    """Return a run file's content for some benchmarks, without pytest-benchmark's copy of the rounds."""
    from ..store import run_file

    rows = [entry for name, entry in run_file.entries(content).items() if name in names]
    for entry in rows:
        entry["stats"].pop("data", None)
    return {**content, "benchmarks": rows}


def _show(options: argparse.Namespace) -> int:
    """Print the newest record, and return the exit code."""
    from ..plugin.rootdir import rootdir
    from ..show.document import Column, tables
    from ..show.names import labels_of
    from ..store import baseline

    store = baseline.RecordStore(rootdir(options.rest) / baseline.FOLDER)
    if not (records := store.records()):
        raise UsageError(f"there are no records in {store.root}; make one: gnnbench baseline record")
    if options.environment:
        if options.environment not in (names := {record.environment for record in records}):
            raise unknown_name("environment", options.environment, names)
        records = store.records(options.environment)
    newest = {record.environment: record for record in records}.values()
    record, runs = max(((row, row.read()) for row in newest), key=lambda row: row[1][0].datetime)
    details = runs[0].part.record
    streams.say(f"record {record.id} of {record.environment}")
    streams.say(
        f"commit {runs[0].commit}, {f'shard {runs[0].shard}, ' if runs[0].shard else ''}"
        f"{units.count(len(runs), 'process')}; {(details and details.reason) or 'no reason given'}"
    )
    for key, value in codec.encode(runs[0].environment).items():
        streams.say(f"  {key}: {json.dumps(value)}", indent="    ")
    times = {name: _times(runs, name) for name in runs[0].benchmarks}
    titles = ("time", "spread", "disturbed")
    columns = [Column(title, "number", itemgetter(index)) for index, title in enumerate(titles)]
    streams.show(tables(labels_of(runs[0].benchmarks.values()), columns, times))
    return 0


def _times(runs: "Sequence[RunFile]", name: str) -> tuple[str, str, str]:
    """Return mean and deviation of a benchmark's times in the processes, and how many were disturbed."""
    rows = [run.benchmarks[name] for run in runs if name in run.benchmarks]
    processes = [process for benchmark in rows for process in benchmark.processes]
    logs = [process.log for process in processes]
    if not logs:
        return "not timed", "", ""
    deviation = statistics.stdev(logs) if len(logs) > 1 else 0.0
    disturbed = sum(not process.is_evidence for process in processes)
    share = f"{disturbed} of {len(logs)}" if disturbed else ""
    return units.seconds(math.exp(statistics.fmean(logs)) / 1e9), units.fraction(deviation), share
