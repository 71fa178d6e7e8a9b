"""Verdicts that a rule of the project's settings ignores."""

from dataclasses import replace

from ..settings import Settings
from .comparison import Compared, Comparison

_FAILING = ("slower", "undecided", "incomparable")
"""What fails a benchmark, with --strict or without."""


def ignored(found: Comparison, settings: Settings) -> Comparison:
    """Return the verdicts that the rules leave: a benchmark with `ignore` never fails.

    The reason of an ignored benchmark names the rule, and the verdict without it.
    """
    return replace(found, rows=[_ruled(row, settings) for row in found.rows])


def _ruled(row: Compared, settings: Settings) -> Compared:
    rule, before = settings.rule("ignore", row.fullname), row.judgement
    if rule is None:
        return row
    if row.memory and row.memory.fails:
        row = replace(row, memory=replace(row.memory, excused=settings.reason(rule)))
    if before.verdict not in _FAILING:
        return row
    reason = f"{settings.reason(rule)}; without the rule: {before.verdict}, {before.reason}"
    return replace(row, judgement=replace(before, verdict="ignored", reason=reason))
