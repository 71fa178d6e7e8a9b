"""Check whether runs can become a baseline record."""

from collections.abc import Sequence
from dataclasses import replace

from ..ground import environment, units
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
    """Return why runs cannot be processes of one record, apart from CPU contention; None: they can."""
    reasons = (_unfit(run) or _unlike(run, runs[0]) for run in runs)
    return next((reason for reason in reasons if reason), None)


def disturbed(runs: Sequence[RunFile]) -> str | None:
    """Return a line on the times that other programs disturbed, which nothing is compared with, if any."""
    found = {
        name: [one for run in runs for one in run.benchmarks[name].processes if not one.is_evidence]
        for name in runs[0].benchmarks
    }
    shares = [one.contention_share for timings in found.values() for one in timings]
    if not shares:
        return None
    count = units.count(sum(map(bool, found.values())), "benchmark")
    known = [share for share in shares if share is not None]
    used = f"up to {units.fraction(max(known))}" if known else "an unknown part"
    return f"other programs used {used} of the CPU time: the times of {count} are marked, and not compared"


def _unfit(run: RunFile) -> str | None:
    if run.sources is None or not all(one.is_measured for one in run.benchmarks.values()):
        return "gnnbench did not time the benchmarks; run without --gnn-layouts off"
    if run.part.incomplete:
        return f"{run.part.incomplete[0].fullname} was interrupted"
    if not run.benchmarks:
        return "no benchmark was timed"
    dirty = [tree.name for tree in run.sources.trees if tree.dirty]
    return f"tracked files of {' and '.join(dirty)} have uncommitted changes" if dirty else None


def _commits(run: RunFile) -> dict[str, str | None]:
    return {tree.path: tree.commit for tree in run.sources.trees} if run.sources else {}


def _unlike(run: RunFile, first: RunFile) -> str | None:
    """Return how a process differs from the first one of its record; None: it does not."""
    assert first.environment
    assert run.environment
    fields = (*environment.WHERE, *environment.WHAT)
    if fields := environment.differences(first.environment, run.environment, fields):
        return f"the environment changed during the recording: {', '.join(name for name, *_ in fields)}"
    if _commits(run) != _commits(first):
        return "another commit was checked out during the recording"
    if run.benchmarks.keys() != first.benchmarks.keys():
        return f"{min(run.benchmarks.keys() ^ first.benchmarks.keys())} is missing in some processes"
    return None
