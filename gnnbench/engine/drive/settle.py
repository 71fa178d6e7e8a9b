"""The one place where verdicts are excused: by accepted slowdowns, and by rules that ignore a benchmark."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from ..ground import git, units
from ..ground.settings import Settings
from ..judge.accepted import FILE, Accepted, Entry
from ..judge.allowed import Allowed
from ..judge.comparison import Agreement, Compared, Comparison
from ..judge.memory import LEAST_BYTES, MOST_SHARE, MemoryChange, differs
from ..judge.verdict import Reason, Thresholds
from ..process.variants.variant import Prepared
from ..store.accepted import entries_at
from .result import Result, Side

_FILE = FILE.as_posix()
_NAMED = 3
"""Most entries that a line names."""
_ACCEPTED = "accepted: "
_FAILING = ("slower", "undecided", "incomparable")
"""What fails a benchmark, with --strict or without."""
_UNKNOWN = (
    "not accepted, because it is unknown whether the base contains it: {entries}; "
    "results must name their commits, and git must have the base's (git fetch --unshallow)"
)


def settled(found: Result) -> Result:
    """Return a result with what is accepted and ignored, and a note on entries of unknown bases, if any.

    What is *slower* within the accepted slowdowns in force becomes *accepted*. What a rule of the settings
    ignores never fails: its reason names the rule, and the verdict without it.
    """
    thresholds = found.thresholds
    rows: list[Compared] = []
    every, unknown = _divided(thresholds.accepted, found.base, found.head)
    for row in found.rows:
        entries = [entry for entry in every if entry.benchmark == row.fullname]
        accepting = _accepting(row, entries, thresholds.of(row.fullname))
        rows.append(_refusing(_ignoring(accepting, thresholds.rules)))
    names = {row.fullname for row in rows}
    places = [entry.place for entry in unknown if entry.benchmark in names]
    lines = [_UNKNOWN.format(entries=f"{units.listed(places, _NAMED)} of {_FILE}")] if places else []
    return replace(found, comparison=Comparison(rows), notes=(*found.notes, *lines))


def in_force(accepted: Accepted, base: Side, head: Side, benchmark: str) -> list[Entry]:
    """Return the entries of a benchmark that the file has at the head, and does not have yet at the base."""
    return [entry for entry in _divided(accepted, base, head)[0] if entry.benchmark == benchmark]


def _divided(accepted: Accepted, base: Side, head: Side) -> tuple[list[Entry], list[Entry]]:
    """Return the entries between two sides: those in force, and those of unknown bases."""
    if not accepted.entries:
        return [], []
    here = git.full_hash(accepted.folder)  # which has the file as it is now
    before = [entries_at(accepted.file, commit) for commit in base.commits] or [None]
    after = [entries_at(accepted.file, commit) or () for commit in head.commits if commit != here]
    ended = [entry for entries in before for entry in entries or ()]
    found = [row for row in accepted.entries if row not in ended and all(row in entries for entries in after)]
    return ([], found) if None in before else (found, [])


def allowed(accepted: Accepted, base: Prepared, head: Prepared) -> dict[str, Allowed]:
    """Return how much slower benchmarks may be, of those for which an accepted slowdown is in force."""
    entries: dict[str, list[Entry]] = defaultdict(list)
    for entry in _divided(accepted, Side.of(base), Side.of(head))[0]:
        entries[entry.benchmark].append(entry)
    return {name: limit for name, its in entries.items() if (limit := Allowed.of(its))}


def _accepting(row: Compared, entries: Sequence[Entry], thresholds: Thresholds) -> Compared:
    """Return a benchmark with the accepted slowdowns that are in force; verdicts but *slower* stay."""
    excused = _accepting_results(row.results, entries)
    memory = row.memory and _excusing_memory(row.fullname, row.memory, entries, thresholds.rules)
    row = replace(row, memory=memory, results=excused)
    limit, judgement = Allowed.of(entries), row.judgement
    if limit is None:
        return row
    if judgement.verdict == "slower" and not limit.is_exceeded(judgement, thresholds):
        reason = f"{_ACCEPTED}{'; '.join(limit.reasons)}"
        judgement = replace(judgement, verdict="accepted", reason=reason, code=None)
    return replace(row, judgement=judgement, allowed=limit, notes=(*limit.notes(judgement), *row.notes))


def _excusing_memory(
    name: str, change: MemoryChange, entries: Sequence[Entry], settings: Settings
) -> MemoryChange:
    """Excuse more memory within the limit, or as far as entries accept it, and what gives no verdict."""
    if not change.fails:
        return change
    share = settings.value("more_memory", name) or MOST_SHARE
    limit = max(share * change.base_bytes, LEAST_BYTES)
    accepted = sum(entry.more_bytes for entry in entries)
    more = change.head_bytes - change.base_bytes
    if more <= limit:
        words = units.size(LEAST_BYTES) if limit == LEAST_BYTES else units.fraction(share)
        return replace(change, excused=f"within the limit of {words}")
    if more - accepted > limit and differs(change.base_bytes + accepted, change.head_bytes):
        return change
    reasons = dict.fromkeys(entry.reason for entry in entries if entry.more_bytes)
    return replace(change, excused=f"{_ACCEPTED}{'; '.join(reasons)}")


def _ignoring(row: Compared, settings: Settings) -> Compared:
    """Return a benchmark as the rule that ignores it leaves it."""
    rule, before = settings.rule("ignore", row.fullname), row.judgement
    if rule is None:
        return row
    if row.memory and row.memory.fails:
        row = replace(row, memory=replace(row.memory, excused=f"ignored: {settings.reason(rule)}"))
    if before.verdict not in _FAILING:
        return row
    reason = f"{settings.reason(rule)}; without the rule: {before.verdict}, {before.reason}"
    return replace(row, judgement=replace(before, verdict="ignored", reason=reason))


def _accepting_results(agreement: Agreement | None, entries: Sequence[Entry]) -> Agreement | None:
    reasons = dict.fromkeys(entry.reason for entry in entries if entry.result)
    if agreement is None or not agreement.fails or not reasons:
        return agreement
    return replace(agreement, excused=f"{_ACCEPTED}{'; '.join(reasons)}")


def _refusing(row: Compared) -> Compared:
    """Return a benchmark without a verdict on its time if its output is another, which no rule excuses."""
    if not row.has_other_result:
        return row
    assert row.results
    before = row.judgement
    code = Reason.OTHER_RESULT if row.results.status == "differ" else Reason.ONLY_REPEATED
    untimed = f"; {before.reason}" if before.verdict == "incomparable" else ""
    untimed = "" if before.reason == row.results.reason else untimed
    reason = f"{code.value}: {row.results.reason}{untimed}"
    return replace(row, judgement=replace(before, verdict="incomparable", reason=reason, code=code))
