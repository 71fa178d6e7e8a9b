"""Check whether runs can become a baseline record."""

from collections.abc import Sequence
from dataclasses import replace

from ..ground import environment, units
from ..ground.cpu import CONTENDED
from . import left_out
from .run_file import RunFile


def measured(run: RunFile) -> RunFile:
    """Return a run without the benchmarks that gnnbench did not measure, unless it measured none."""
    timed = {name: benchmark for name, benchmark in run.benchmarks.items() if benchmark.is_measured}
    others = [name for name in run.benchmarks if name not in timed]
    if not timed:
        return run
    lines = (left_out.line("that gnnbench did not time", others),) if others else ()
    return replace(run, benchmarks=timed, left_out=(*run.left_out, *lines))


def unlike(runs: Sequence[RunFile]) -> str | None:
    """Return why runs cannot be processes of one record, apart from CPU contention. None if they can."""
    reasons = (_unfit(run) or _unlike(run, runs[0]) for run in runs)
    return next((reason for reason in reasons if reason), None)


def disturbed(runs: Sequence[RunFile]) -> str | None:
    """Return a line on the times that other programs disturbed, which nothing is compared with, if any."""
    shares = (
        max(process.contention_share for run in runs for process in run.benchmarks[name].processes)
        for name in runs[0].benchmarks
    )
    above = [share for share in shares if share > CONTENDED]
    if not above:
        return None
    used = f"other programs used up to {units.fraction(max(above))} of the CPU time"
    return f"{used}: the times of {units.count(len(above), 'benchmark')} are marked, and not compared"


def _unfit(run: RunFile) -> str | None:
    if run.sources is None or not all(benchmark.is_measured for benchmark in run.benchmarks.values()):
        return "gnnbench did not time the benchmarks; run without --gnn-layouts off"
    if run.part.incomplete:
        return f"{run.part.incomplete[0].fullname} was interrupted"
    if not run.benchmarks:
        return "no benchmark was timed"
    dirty = [tree.name for tree in run.sources.trees if tree.dirty]
    return f"tracked files of {' and '.join(dirty)} have uncommitted changes" if dirty else None


def _unlike(run: RunFile, first: RunFile) -> str | None:
    """Return how a process differs from the first one of its record. None if it does not."""
    assert first.environment
    assert run.environment
    names = (*environment.WHERE, *environment.WHAT)
    if fields := environment.differences(first.environment, run.environment, names):
        return f"the environment changed during the recording: {', '.join(name for name, *_ in fields)}"
    both = [side.sources for side in (run, first) if side.sources]
    commits, before = ({tree.path: tree.commit for tree in sources.trees} for sources in both)
    if commits != before:
        return "another commit was checked out during the recording"
    if run.benchmarks.keys() != first.benchmarks.keys():
        return f"{min(run.benchmarks.keys() ^ first.benchmarks.keys())} is missing in some processes"
    return None
