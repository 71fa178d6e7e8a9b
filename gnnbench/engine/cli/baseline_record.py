"""`gnnbench baseline record`: runs a suite in new processes and saves their timings as a record."""

import argparse
import shlex
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..ground import git, units
from ..ground.cpu import RealTime
from ..ground.errors import UsageError
from . import streams
from .common import INTERRUPTED, NOTHING_SLOWER, suite
from .progress import Progress

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..store.run_file import RunFile
    from ..store.unfinished_record import UnfinishedRecord


def run(options: argparse.Namespace) -> int:
    """Run the processes that are missing, save the record, and return the exit code."""
    from pytest_benchmark.utils import get_machine_id

    from ..ground import environment
    from ..ground.files import cache_folder, check_folder
    from ..plugin.rootdir import rootdir
    from ..process.variants import fresh
    from ..store import baseline, fitness, run_file, unfinished_record
    from ..store.baseline import RecordStore

    if options.processes < 2:  # noqa: PLR2004
        raise UsageError(
            "--processes must be at least 2: one process cannot show the variation between processes"
        )
    arguments = suite(options.rest, "gnnbench baseline record")
    root = rootdir(arguments)
    here = environment.collect(root)
    if here.dirty:
        raise UsageError("tracked files have uncommitted changes; commit or stash them, then record")
    store = RecordStore(root / baseline.FOLDER)
    check_folder(store.root)
    inputs = [str(root), str(Path.cwd()), *arguments]
    with unfinished_record.opened(cache_folder(), here, inputs, _say_that_it_waits) as kept:
        try:
            with Progress() as progress:
                runs = _Work(kept, options.processes, arguments, progress).go()
            contents = [_as_recorded(run_file.load(one.path), runs[0].benchmarks) for one in runs]
            name = options.name or (runs[0].commit or "unversioned")[:10]
            saved = store.save(contents, get_machine_id(), name, options.reason)
        except KeyboardInterrupt:
            finished = kept.finished(options.processes)
            if not finished or here.commit is None:
                raise
            text = f"interrupted; {_finished(finished, options.processes)}; the same command continues"
            streams.say(f"gnnbench: {text}", sys.stderr)
            return INTERRUPTED
        kept.remove()
    count, processes = units.count(len(runs[0].benchmarks), "benchmark"), len(saved.files)
    lines = [line for run in runs for line in run.left_out]
    if why := git.why_no_commit(root):
        lines.append(f"recorded without a commit, so that its code cannot be built again: {why}")
    for line in dict.fromkeys(lines):
        streams.say(f"gnnbench: {line}", sys.stderr)
    if disturbed := fitness.disturbed(runs):
        streams.say(f"gnnbench: {disturbed}", sys.stderr)
    streams.say(f"recorded {count} in {processes} processes: record {saved.id} of {saved.environment}")
    compare = fresh.typed([*arguments, f"--benchmark-compare={saved.id}"], Path.cwd())
    streams.say(f"compare with it: {compare}")
    return NOTHING_SLOWER


def _say_that_it_waits() -> None:
    streams.say("gnnbench: waiting until another command that records here has ended", sys.stderr)


@dataclass(frozen=True)
class _Work:
    kept: "UnfinishedRecord"
    processes: int
    arguments: "Sequence[str]"
    progress: Progress
    told: "list[str]" = field(default_factory=list)
    """The lines on how processes ran, each printed once."""

    def go(self) -> "list[RunFile]":
        """Run the processes that are missing, and return the runs for the record."""
        from ..store import fitness

        if finished := self.kept.finished(self.processes):
            self.progress.say(f"continues: {_finished(finished, self.processes)}")
        runs: list[RunFile] = []
        for number in range(1, self.processes + 1):
            runs.append(fitness.measured(self.kept.get(number) or self._run(number)))
            if reason := fitness.unlike(runs):
                self.kept.remove()
                raise UsageError(f"nothing was recorded: {reason}")
        return runs

    def _run(self, number: int) -> "RunFile":
        from ..process.variants import fresh

        title = f"process {number} of {self.processes}: pytest {shlex.join(self.arguments)}"
        chosen = any(argument.startswith("--gnn-layouts") for argument in self.arguments)
        layouts = () if chosen else ("--gnn-layouts", "sample")  # the default of --benchmark-compare
        start = RealTime.seconds()
        with tempfile.TemporaryDirectory(dir=self.kept.folder) as folder:
            output = Path(folder, "run.json")
            words = [*self.arguments, *layouts]
            for line in fresh.run(words, output, Path.cwd(), number, self.progress.below(title)):
                if line not in self.told:
                    self.progress.say(line)
                    self.told.append(line)
            self.progress.print(f"{title}: {units.seconds(RealTime.seconds() - start)}")
            return self.kept.keep(output, number)


def _finished(count: int, of: int) -> str:
    return f"{count} of {of} processes {'was' if count == 1 else 'were'} finished"


def _as_recorded(content: dict[str, Any], names: "Collection[str]") -> dict[str, Any]:
    """Return a run file's content with these benchmarks.

    It lacks pytest-benchmark's copy of the rounds; gnnbench's part of the file has them by block.
    """
    from ..store import benchmark

    found = [entry for name, entry in benchmark.entries(content).items() if name in names]
    for entry in found:
        entry["stats"].pop("data", None)
    return {**content, "benchmarks": found}
