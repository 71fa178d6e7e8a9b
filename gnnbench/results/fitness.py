"""Check whether runs can become a baseline record, and whether a record is still valid."""

from collections.abc import Sequence
from dataclasses import replace

from .. import environment, units
from ..cpu import CONTENDED
from ..errors import UsageError
from . import left_out
from .baseline import Record
from .run_file import RunFile


def verify(record: Record) -> None:
    """Check a saved record.

    Raises:
        UsageError: it is incomplete, departs from the schema, or is in another environment's folder.
    """
    runs = record.read()
    if reason := unlike(runs):
        raise UsageError(f"{record.files[0]}: not a valid baseline: {reason}")
    for run in runs:
        here = run.environment or {}
        if record.environment != environment.name(here):
            raise UsageError(f"{run.path}: wrong folder; its environment is {environment.name(here)}")


def measured(run: RunFile) -> RunFile:
    """Return a run without the benchmarks that gnnbench did not measure, unless it measured none."""
    found = {name: one for name, one in run.benchmarks.items() if one.is_measured}
    others = [name for name, one in run.benchmarks.items() if not one.is_measured and not one.fault]
    if not found:
        return run
    lines = (left_out.line("that gnnbench did not time", others),) if others else ()
    return replace(run, benchmarks=found, left_out=(*run.left_out, *lines))


def unlike(runs: Sequence[RunFile]) -> str | None:
    """Return why runs cannot be processes of one record, apart from CPU contention; None: they can."""
    reasons = (_unfit(run) or _unlike(run, runs[0]) for run in runs)
    return next((reason for reason in reasons if reason), None)


def contended(runs: Sequence[RunFile], processes: int) -> str | None:
    """Return the reason if other programs disturbed a benchmark in too many runs; None: they did not.

    Each benchmark needs two runs without contention, to estimate a variance; if there is only one process,
    it needs one.

    Args:
        runs: runs of the processes; some processes may have been repeated.
        processes: number of processes.
    """
    for name in runs[0].benchmarks:
        timings = [timing for run in runs for timing in run.benchmarks[name].processes]
        quiet = sum(timing.is_evidence for timing in timings)
        if quiet < min(2, processes):
            count = sum(timing.contended for timing in timings)
            if not count:
                return (
                    f"CPU time of other programs was not recorded for {name} in "
                    f"{len(timings) - quiet} of {len(timings)} processes"
                )
            most = units.fraction(max(timing.contention_share or 0.0 for timing in timings))
            return (
                f"other programs used up to {most} of the CPU time while {name} was timed, "
                f"more than {units.fraction(CONTENDED)} in {count} of {len(timings)} processes"
            )
    return None


def least_contended(runs: Sequence[RunFile], processes: int) -> list[RunFile]:
    """Return the runs for a record: as few as possible, and those with the least contention.

    Args:
        runs: at least one of each process.
        processes: number of processes; more runs are returned only if benchmarks need them.
    """
    ranked = sorted(runs, key=_contended_benchmarks)
    counts = range(processes, len(ranked) + 1)
    enough = (count for count in counts if not contended(ranked[:count], processes))
    return ranked[: next(enough, processes)]


def _contended_benchmarks(run: RunFile) -> int:
    return sum(not timing.is_evidence for one in run.benchmarks.values() for timing in one.processes)


def _unfit(run: RunFile) -> str | None:
    if faulty := next((one for one in run.benchmarks.values() if one.fault), None):
        return f"{faulty.fullname}: {faulty.fault}"
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
    both = first.environment or {}, run.environment or {}
    fields = environment.differences(*both, (*environment.WHERE, *environment.WHAT))
    if fields:
        names = ", ".join(name for name, _, _ in fields)
        return f"the environment changed during the recording: {names}"
    if _commits(run) != _commits(first):
        return "another commit was checked out during the recording"
    if run.benchmarks.keys() != first.benchmarks.keys():
        return f"{min(run.benchmarks.keys() ^ first.benchmarks.keys())} is missing in some processes"
    for name, one in run.benchmarks.items():
        if one.part.code_hash != first.benchmarks[name].part.code_hash:
            return f"the code of {name} changed during the recording"
    return None
