"""The verdict on a benchmark for which slowdowns were accepted.

The time of a benchmark may be its base's times the product of the accepted ratios. Whether it is more is
decided on the log scale, by the difference between the measured and the accepted log ratio. Both have a
simultaneous interval. Their errors are independent, so the half-width of the difference is the root of the
sum of the squares.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from .. import units
from ..results.accepted import Entry
from .comparison import Allowed, Compared
from .memory import ACCEPTED, MemoryChange, differs
from .verdict import Judgement, Thresholds


def allowed(entries: Sequence[Entry]) -> Allowed:
    """Return how much slower a benchmark may be with these entries, of which there is at least one."""
    log_ratio = sum(one.log_ratio for one in entries)
    width = math.hypot(*(one.half_width for one in entries))
    ratio, low, high = (math.exp(log_ratio + change) for change in (0.0, -width, width))
    return Allowed(ratio, low, high, tuple(dict.fromkeys(one.reason for one in entries)))


def judge(row: Compared, entries: Sequence[Entry], thresholds: Thresholds) -> Compared:
    """Return a benchmark's verdict with the accepted slowdowns that are in force.

    *Slower* becomes *accepted*, unless the time is more than accepted: by at least the minimum effect of
    interest, and by more than both intervals allow for. Other verdicts stay.

    Args:
        row: the benchmark, judged as if no slowdown was accepted.
        entries: in force for its base and head.
        thresholds: of the verdict.
    """
    if not entries:
        return row
    found, limit = row.judgement, allowed(entries)
    if found.verdict == "slower" and not _is_beyond(found, limit, thresholds):
        reason = f"accepted: {'; '.join(limit.reasons)}"
        found = replace(found, verdict="accepted", reason=reason, code=None)
    return replace(row, judgement=found, allowed=limit, notes=(*notes(found, limit), *row.notes))


def judge_memory(found: MemoryChange | None, entries: Sequence[Entry]) -> MemoryChange | None:
    """Return a verdict on memory with the entries in force: more memory is excused as far as they accept it.

    Peaks are exact, so there is no interval. A difference that would give no verdict is accepted too.
    """
    added = sum(one.more_bytes for one in entries)
    if found is None or not found.fails or not added:
        return found
    most = found.base_bytes + added
    if found.head_bytes > most and differs(most, found.head_bytes):
        return found
    reasons = dict.fromkeys(one.reason for one in entries if one.more_bytes)
    return replace(found, excused=f"{ACCEPTED}{'; '.join(reasons)}")


def is_settled(found: Judgement, limit: Allowed, thresholds: Thresholds) -> bool:
    """Tell whether a verdict would not gain from more measurements.

    *Slower* than the base is known early. It is settled when the time is beyond what is accepted, or when the
    per-benchmark interval lies below what is accepted and the minimum effect of interest.

    Args:
        found: the verdict as if no slowdown was accepted.
        limit: what is accepted.
        thresholds: of the verdict.
    """
    if found.verdict != "slower":
        return True
    within = found.own_high is not None and found.own_high < limit.ratio * (1 + thresholds.effect)
    return within or _is_beyond(found, limit, thresholds)


def _is_beyond(found: Judgement, limit: Allowed, thresholds: Thresholds) -> bool:
    excess, width = beyond(found, limit)
    return excess > width and excess >= math.log1p(thresholds.effect)


def notes(found: Judgement, limit: Allowed | None) -> tuple[str, ...]:
    """Return the notes of verdict tables on what is accepted, and on what is more than that.

    Args:
        found: the verdict with the accepted slowdowns.
        limit: what they allow; None: there are none.
    """
    if limit is None or found.verdict not in ("slower", "accepted"):
        return ()
    reasons = "; ".join(limit.reasons)
    if found.verdict == "accepted":
        return (f"accepted {units.ratio(limit.ratio)} ({units.interval(limit.low, limit.high)}): {reasons}",)
    excess, width = beyond(found, limit)
    bounds = units.interval(math.exp(excess - width), math.exp(excess + width))
    more = f"{units.ratio(math.exp(excess), changed=True)} ({bounds})"
    return (f"{more} beyond the accepted {units.ratio(limit.ratio)}: {reasons}",)


def is_recovered(row: Compared, thresholds: Thresholds) -> bool:
    """Tell whether a benchmark is clearly less slow than accepted.

    Args:
        row: from `judge`.
        thresholds: of the verdict.
    """
    if row.allowed is None:
        return False
    if row.judgement.same_code:
        return True
    if row.judgement.low is None:
        return False
    excess, width = beyond(row.judgement, row.allowed)
    return excess < -width and excess <= -math.log1p(thresholds.effect)


def beyond(found: Judgement, limit: Allowed) -> tuple[float, float]:
    """Return by how much the measured log ratio is above the accepted one, and the half-width of that.

    Args:
        found: a verdict with a ratio and its simultaneous interval.
        limit: what is accepted.
    """
    assert found.ratio
    assert found.high
    own, accepted = math.log(found.high / found.ratio), math.log(limit.high / limit.ratio)
    return math.log(found.ratio / limit.ratio), math.hypot(own, accepted)
