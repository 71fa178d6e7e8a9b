"""Make a view from any of gnnbench's files."""

from collections.abc import Sequence
from dataclasses import replace

from .. import json_io, units
from ..compare.result import Result
from ..compare.verdict import Thresholds
from ..profile.record import ProfileRecord
from ..results.accepted import Accepted
from ..results.run_file import RunFile
from . import breakdown, causes, run
from .names import clean, cleaned, cleaned_memory, spec_of, titles
from .sources import Source, Sources
from .view import BenchmarkView, JudgedBy, View, environment_facts


def compose(sources: Sources, thresholds: Thresholds, accepted: Accepted) -> View:
    """Return the view of files.

    Args:
        sources: the files.
        thresholds: of runs that are compared here.
        accepted: the accepted slowdowns, for the same.

    Raises:
        UsageError: a file is damaged.
    """
    main = sources.first or sources.profiles[0]
    try:
        if isinstance(main.checked, Result):
            view = _result(main.checked)
        elif isinstance(main.checked, RunFile):
            view = run.view(main, sources.base, thresholds, accepted)
        else:
            view = _profiles(sources.profiles)
        records = [one.checked for one in sources.profiles if isinstance(one.checked, ProfileRecord)]
        return replace(view, breakdowns=breakdown.of(records))
    except json_io.DAMAGE as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        json_io.refuse(main.path, f"damaged: {clean(what)}", "save it again")


def _profiles(sources: Sequence[Source]) -> View:
    names = dict.fromkeys(clean(one.content["id"]) for one in sources)
    return View("profile", ", ".join(names), facts=environment_facts(sources[0].content["environment"]))


def _result(found: Result) -> View:
    rows = found.comparison.rows
    names = [row.fullname for row in rows]
    specs = [spec_of(name) for name in names]
    labels, common = titles(names, specs)
    benchmarks = tuple(
        BenchmarkView(
            row.fullname,
            *label,
            spec,
            row.seconds,
            judgement=cleaned(row.judgement),
            allowed=row.allowed,
            memory=cleaned_memory(row.memory),
            notes=tuple(map(clean, row.notes)),
        )
        for row, spec, label in zip(rows, specs, labels, strict=True)
    )
    shared = found.comparison.shared and cleaned(found.comparison.shared)
    judged = JudgedBy(found.thresholds, clean(found.base.title), clean(found.head.title), shared)
    facts: tuple[tuple[str, str], ...] = ()
    notes = tuple(map(clean, found.all_notes()))
    if found.environment is not None:
        facts = (("took", f"{found.seconds:,.0f} s"), *_busy(found), *environment_facts(found.environment))
    if found.interrupted:
        notes = (
            "The comparison was interrupted: benchmarks without a verdict by then are undecided.",
            *notes,
        )
    return View(
        found.command,
        clean(found.path.name),
        common,
        benchmarks,
        judged,
        causes.views(causes.of_result(found)),
        facts=facts,
        notes=notes,
    )


def _busy(found: Result) -> tuple[tuple[str, str], ...]:
    """Return how much other programs used the processor, if it is known."""
    share = found.contention_share
    return () if share is None else (("CPU time of other programs", units.fraction(share)),)
