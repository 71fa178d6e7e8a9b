"""Whether a busy machine may be why benchmarks are undecided."""

from collections.abc import Sequence

from .. import units
from ..cpu import CONTENDED
from .comparison import Compared


def notes(share: float | None, rows: Sequence[Compared]) -> tuple[str, ...]:
    """Return a note if other programs used much CPU time and benchmarks are undecided.

    Args:
        share: the fraction of CPU time that other programs used; None: unknown.
        rows: the verdicts.
    """
    count = sum(row.judgement.verdict == "undecided" for row in rows)
    if not count or (share or 0.0) <= CONTENDED:
        return ()
    whose = f"{units.count(count, 'benchmark')} {'is' if count == 1 else 'are'} undecided"
    used = units.fraction(share or 0.0)
    return (f"the machine was busy: other programs used {used} of its CPU time, maybe why {whose}",)
