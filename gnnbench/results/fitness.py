"""Whether runs are fit to be a baseline, and whether a record still is one."""

from collections.abc import Sequence

from .. import environment, schema, units
from ..cpu import CONTENDED
from ..errors import UsageError
from . import run_file
from .baseline import Record
from .run_file import RunFile


def verify(record: Record) -> None:
    """Check everything about a record that can be checked.

    Raises:
        UsageError: it is not whole, not of the form that the schema describes, or in another's folder.
    """
    runs = record.read()
    if reason := unfit(runs):
        raise UsageError(f"{record.files[0]}: no baseline: {reason}")
    for run in runs:
        content = run_file.load(run.path)
        parts = [(entry["extra_info"]["gnnbench"], None) for entry in content["benchmarks"]]
        for part, definition in ((content["gnnbench"], "file"), *parts):
            if wrong := schema.departure(part, "run", definition):
                raise UsageError(f"{run.path}: {wrong}; restore it, or record again")
        if (own := environment.name(run.environment or {})) != record.environment:
            raise UsageError(f"{run.path}: lies in another environment's folder; it belongs to {own}")


def unfit(runs: Sequence[RunFile]) -> str | None:
    """Say why runs are no baseline; None where they are."""
    first = runs[0]
    reasons = (_unfit(run) or _unlike(run, first) for run in runs)
    return next((reason for reason in reasons if reason), None) or _contended(runs)


def _contended(runs: Sequence[RunFile]) -> str | None:
    """Say where too few processes are left that tell how much processes differ."""
    for name in runs[0].benchmarks:
        processes = [process for run in runs for process in run.benchmarks[name].processes]
        quiet = sum(process.is_evidence for process in processes)
        if quiet < min(2, len(processes)):
            contended, least = sum(process.contended for process in processes), units.fraction(CONTENDED)
            if not contended:
                return (
                    f"nobody looked whether other programs took the processors while {name} was timed in "
                    f"{len(processes) - quiet} of {len(processes)} processes; record again"
                )
            most = units.fraction(max(process.contention_share or 0.0 for process in processes))
            return (
                f"other programs took up to {most} of the processors while {name} was timed, "
                f"over {least} in {contended} of {len(processes)} processes; "
                "end them, or wait until they have, and record again"
            )
    return None


def _unfit(run: RunFile) -> str | None:
    if run.environment is None or not all(one.processes for one in run.benchmarks.values()):
        return "gnnbench did not time it: was it run with --gnn-layouts off?"
    if run.incomplete:
        return f"{run.incomplete[0]} was cut short"
    if not run.benchmarks:
        return "no benchmark was timed"
    return "files that git follows differ from the commit" if run.environment["dirty"] else None


def _unlike(run: RunFile, first: RunFile) -> str | None:
    """Say in what a process differs from the first one of its record."""
    fields = environment.differences(first.environment or {}, run.environment or {})
    if fields:
        names = ", ".join(name for name, _, _ in fields)
        return f"the environment changed while it was recorded: {names}"
    if run.commit != first.commit:
        return "another commit was checked out while it was recorded"
    if run.benchmarks.keys() != first.benchmarks.keys():
        return f"{min(run.benchmarks.keys() ^ first.benchmarks.keys())} is not in all processes"
    for name, benchmark in run.benchmarks.items():
        if benchmark.code_hash != first.benchmarks[name].code_hash:
            return f"the code of {name} changed while it was recorded"
    return None
