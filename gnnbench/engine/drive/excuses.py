"""The one place where verdicts are excused: by accepted slowdowns, and by rules that ignore a benchmark."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..ground import git, json_io, units
from ..ground.errors import UsageError, unknown_name
from ..ground.settings import Settings
from ..judge.accepted import FILE, Accepted, Entry
from ..judge.allowed import Allowed
from ..judge.comparison import Agreement, Compared, Comparison
from ..judge.memory import LEAST_BYTES, MOST_SHARE, MemoryChange, differs
from ..judge.verdict import Reason, Thresholds
from ..process.variants.variant import Prepared
from ..store import run_file
from ..store.accepted import entries_at
from . import result
from .result import Result, Side

_FILE = FILE.as_posix()
_NAMED = 3
"""Most entries that a note names."""
_ACCEPTED = "accepted: "
_FAILING = ("slower", "undecided", "incomparable")
"""Verdicts that fail a benchmark, some with --strict only."""
_UNKNOWN = (
    "not accepted, because it is unknown whether the base contains it: {entries}; "
    "results must name their commits, and git must have the base's (git fetch --unshallow)"
)
_REMEDY = (
    "give a result of gnnbench ab --json or of gnnbench compare --json, or a run file of "
    "pytest --benchmark-compare"
)
_SHORT_COMMIT = 10


def settled(result: Result) -> Result:
    """Return a result after acceptances and rules, with a note on entries whose bases are unknown.

    A benchmark that is *slower* within the accepted slowdowns in force becomes *accepted*. A benchmark that a
    rule of the settings ignores never fails: the reason names the rule, and the verdict without the rule.
    """
    thresholds = result.thresholds
    rows: list[Compared] = []
    current, unknown = _divided(thresholds.accepted, result.base, result.head)
    for row in result.rows:
        entries = [entry for entry in current if entry.benchmark == row.fullname]
        accepting = _accepting(row, entries, thresholds.of(row.fullname))
        rows.append(_refusing(_ignoring(accepting, thresholds.rules)))
    names = {row.fullname for row in rows}
    places = [entry.place for entry in unknown if entry.benchmark in names]
    lines = [_UNKNOWN.format(entries=f"{units.listed(places, _NAMED)} of {_FILE}")] if places else []
    return replace(result, comparison=Comparison(rows), notes=(*result.notes, *lines))


def in_force(accepted: Accepted, base: Side, head: Side, benchmark: str) -> list[Entry]:
    """Return the entries of a benchmark that the head's file has and the base's file lacks."""
    return [entry for entry in _divided(accepted, base, head)[0] if entry.benchmark == benchmark]


def _divided(accepted: Accepted, base: Side, head: Side) -> tuple[list[Entry], list[Entry]]:
    """Return the entries between two sides: first those in force, then those with an unknown base."""
    if not accepted.entries:
        return [], []
    current = git.full_hash(accepted.folder)  # at this commit, the file is as on disk
    before = [entries_at(accepted.file, commit) for commit in base.commits] or [None]
    after = [entries_at(accepted.file, commit) or () for commit in head.commits if commit != current]
    old = [entry for entries in before for entry in entries or ()]
    new = [row for row in accepted.entries if row not in old and all(row in entries for entries in after)]
    return ([], new) if None in before else (new, [])


def allowed(accepted: Accepted, base: Prepared, head: Prepared) -> dict[str, Allowed]:
    """Return how much slower each benchmark may be for which an accepted slowdown is in force."""
    entries: dict[str, list[Entry]] = defaultdict(list)
    for entry in _divided(accepted, Side.of(base), Side.of(head))[0]:
        entries[entry.benchmark].append(entry)
    return {name: limit for name, group in entries.items() if (limit := Allowed.of(group))}


def _accepting(row: Compared, entries: Sequence[Entry], thresholds: Thresholds) -> Compared:
    """Return a benchmark after applying the accepted slowdowns; only the verdict *slower* can change."""
    agreement = _accepting_results(row.results, entries)
    memory = row.memory and _excusing_memory(row.fullname, row.memory, entries, thresholds.rules)
    row = replace(row, memory=memory, results=agreement)
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
    """Excuse memory growth that is within the limit, or that entries accept."""
    if not change.fails:
        return change
    share = settings.value("more_memory", name) or MOST_SHARE
    limit = max(share * change.base_bytes, LEAST_BYTES)
    accepted_bytes = sum(entry.more_bytes for entry in entries)
    more_bytes = change.head_bytes - change.base_bytes
    if more_bytes <= limit:
        limit_text = units.size(LEAST_BYTES) if limit == LEAST_BYTES else units.fraction(share)
        return replace(change, excused=f"within the limit of {limit_text}")
    if more_bytes - accepted_bytes > limit and differs(change.base_bytes + accepted_bytes, change.head_bytes):
        return change
    reasons = dict.fromkeys(entry.reason for entry in entries if entry.more_bytes)
    return replace(change, excused=f"{_ACCEPTED}{'; '.join(reasons)}")


def _ignoring(row: Compared, settings: Settings) -> Compared:
    """Return a benchmark after applying the rule that ignores it, if there is one."""
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
    """Return a benchmark as *incomparable* if its output differs and nothing excuses the difference."""
    if not row.has_other_result:
        return row
    assert row.results
    before = row.judgement
    code = Reason.OTHER_RESULT if row.results.status == "differ" else Reason.ONLY_REPEATED
    untimed = f"; {before.reason}" if before.verdict == "incomparable" else ""
    untimed = "" if before.reason == row.results.reason else untimed
    reason = f"{code.value}: {row.results.reason}{untimed}"
    return replace(row, judgement=replace(before, verdict="incomparable", reason=reason, code=code))


def _read(path: Path) -> Result:
    """Read a saved result, or the result that is part of a run file."""
    content = json_io.read(path, _REMEDY)
    if result.kind(content) != "run":
        return result.parse(path, content)
    whole = run_file.parse(path, content).part.compared
    if not whole:
        json_io.refuse(path, "a run file without verdicts: it was not compared", _REMEDY)
    return result.parse(path, whole)


def entries(
    path: Path,
    names: Sequence[str],
    accepted: Accepted,
    reason: str,
    *,
    results: bool = False,
) -> list[Entry]:
    """Return an entry for each benchmark in `names`, or if this is empty, for each that is worse.

    `results`: whether different outputs are also accepted.
    """
    whole = _read(path)
    rows = {row.fullname: row for row in whole.rows}
    for name in names:
        if name not in rows:
            raise UsageError(f"{path}: {unknown_name('benchmark', name, rows)}")
    worse = [row for row in whole.rows if row.is_worse]
    selection = [rows[name] for name in dict.fromkeys(names)] or [
        row for row in worse if results or not row.has_other_result
    ]
    if not selection:
        hint = f"; {len(worse)} with a different output: --result" if worse else ""
        raise UsageError(
            f"{path}: no benchmark is slower or needs more memory, so there is nothing to accept{hint}"
        )
    _check(path, whole.base, whole.head)
    new = []
    for row in selection:
        name, judgement, memory = row.fullname, row.judgement, row.memory
        if not row.is_worse:
            raise UsageError(
                f"{path}: {name} is {judgement.verdict}, not slower ({judgement.reason}), and needs "
                "no memory beyond its limit; leave it out"
            )
        if row.has_other_result and not results:
            raise UsageError(f"{path}: {name} has {judgement.reason}; give --result to accept that")
        if earlier := in_force(accepted, whole.base, whole.head, name):
            what = f"{earlier[-1].place} accepts something of {name} already"
            json_io.refuse(path, what, "remove that entry, and compare again")
        ratios = judgement.ratio or 1.0, judgement.low or 1.0, judgement.high or 1.0
        more_bytes = memory.head_bytes - memory.base_bytes if memory and memory.fails else 0
        slower = judgement.verdict == "slower"
        new.append(
            Entry(name, reason, *(ratios if slower else (1.0, 1.0, 1.0)), more_bytes, row.has_other_result)
        )
    return new


def _check(path: Path, base: Side, head: Side) -> None:
    """Refuse a result that does not show which change of the project was measured."""
    for name, side in (("base", base), ("head", head)):
        if not side.commits:
            json_io.refuse(path, f"the commit of the {name} is unknown", "compare commits of a repository")
    if base.commits == head.commits and not head.dirty:
        why = f"both sides are commit {base.commits[0][:_SHORT_COMMIT]}, so no change made it slower"
        json_io.refuse(path, why, "compare two commits")
