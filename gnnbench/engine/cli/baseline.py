"""`gnnbench baseline record`: records timings for `pytest --benchmark-compare`."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..ground import git, json_io, units
from ..ground.cpu import RealTime
from ..ground.errors import UsageError
from ..ground.options import Option, whole
from ..show.lines import Note
from ..show.progress import Progress
from . import streams
from .common import NOTHING_SLOWER, declare, suite

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..store.run_file import RunFile

PROCESSES = 2
_PROCESSES = Option("processes", "N", f"{PROCESSES}", whole, "be a whole number, as in 5").described(
    f"number of new processes. Default: {PROCESSES}; take 5 to compare times across sessions."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    text = "run a suite in new processes and save the timings: record [-- PYTEST ARGS]"
    parser.add_argument("what", choices=("record",), help=text)
    declare(parser, (_PROCESSES,))
    parser.add_argument("--reason", default="", metavar="TEXT", help="reason for the new record, saved in it")


def run(options: argparse.Namespace) -> int:
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
    saved = store.save(contents, get_machine_id(), (runs[0].commit or "unversioned")[:10], options.reason)
    if why := git.why_no_commit(root):
        line = f"gnnbench: recorded without a commit, so that its code cannot be built again: {why}"
        streams.say(line, sys.stderr)
    if disturbed := baseline.disturbed(runs):
        streams.say(f"gnnbench: {disturbed}", sys.stderr)
    count, processes = units.count(len(runs[0].benchmarks), "benchmark"), len(saved.files)
    streams.say(f"recorded {count} in {processes} processes: record {saved.id} of {saved.environment}")
    streams.say(Note("compare with it", fresh.typed([*arguments, "--benchmark-compare"], Path.cwd())))
    return NOTHING_SLOWER


def _runs(arguments: "Sequence[str]", processes: int, folder: Path, progress: Progress) -> "list[RunFile]":
    """Time the suite in new processes, and return their runs."""
    from ..process.variants import fresh
    from ..store import baseline, run_file

    chosen = any(argument.startswith("--gnn-layouts") for argument in arguments)
    layouts = () if chosen else ("--gnn-layouts", "sample")  # the default of --benchmark-compare
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
        runs.append(baseline.measured(run_file.read(output)))
        if reason := baseline.unlike(runs):
            raise UsageError(f"nothing was recorded: {reason}")
    return runs


def _as_recorded(content: dict[str, Any], names: "Collection[str]") -> dict[str, Any]:
    """Return a run file's content with these benchmarks, without pytest-benchmark's copy of their rounds."""
    from ..store import benchmark

    rows = [entry for name, entry in benchmark.entries(content).items() if name in names]
    for entry in rows:
        entry["stats"].pop("data", None)
    return {**content, "benchmarks": rows}
