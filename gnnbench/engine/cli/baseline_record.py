"""`gnnbench baseline record`: runs a suite in new processes and saves their timings as a record."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..ground import git, units
from ..ground.cpu import RealTime
from ..ground.errors import UsageError
from ..show.progress import Progress
from . import streams
from .common import NOTHING_SLOWER, suite

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..store.run_file import RunFile


def run(options: argparse.Namespace) -> int:
    """Run the processes, save the record, and return the exit code."""
    from pytest_benchmark.utils import get_machine_id

    from ..ground import environment
    from ..ground.files import check_folder, scratch
    from ..plugin.rootdir import rootdir
    from ..process.variants import fresh
    from ..store import baseline, fitness, run_file

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
        contents = [_as_recorded(run_file.load(one.path), runs[0].benchmarks) for one in runs]
    saved = store.save(contents, get_machine_id(), (runs[0].commit or "unversioned")[:10], options.reason)
    lines = [line for run in runs for line in run.left_out]
    if why := git.why_no_commit(root):
        lines.append(f"recorded without a commit, so that its code cannot be built again: {why}")
    if disturbed := fitness.disturbed(runs):
        lines.append(disturbed)
    for line in dict.fromkeys(lines):
        streams.say(f"gnnbench: {line}", sys.stderr)
    count, processes = units.count(len(runs[0].benchmarks), "benchmark"), len(saved.files)
    streams.say(f"recorded {count} in {processes} processes: record {saved.id} of {saved.environment}")
    streams.say(f"compare with it: {fresh.typed([*arguments, '--benchmark-compare'], Path.cwd())}")
    return NOTHING_SLOWER


def _runs(arguments: "Sequence[str]", processes: int, folder: Path, progress: Progress) -> "list[RunFile]":
    """Time the suite in new processes, and return their runs."""
    from ..process.variants import fresh
    from ..store import fitness, run_file

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
        runs.append(fitness.measured(run_file.read(output)))
        if reason := fitness.unlike(runs):
            raise UsageError(f"nothing was recorded: {reason}")
    return runs


def _as_recorded(content: dict[str, Any], names: "Collection[str]") -> dict[str, Any]:
    """Return a run file's content with these benchmarks.

    It lacks pytest-benchmark's copy of the rounds; gnnbench's part of the file has them by block.
    """
    from ..store import benchmark

    rows = [entry for name, entry in benchmark.entries(content).items() if name in names]
    for entry in rows:
        entry["stats"].pop("data", None)
    return {**content, "benchmarks": rows}
