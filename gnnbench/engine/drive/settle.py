"""Excuses changes that the project has accepted or that a rule ignores. Makes entries that accept changes."""

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
from .result import SHORT_COMMIT, Result, Side, kind, parse

_FILE = FILE.as_posix()
_MOST_NAMED = 3
"""Largest number of entries in a note."""
_ACCEPTED = "accepted: "
_FAILING = ("slower", "undecided", "incomparable")
"""Verdicts that can fail a run: `slower` always, the others only with --strict."""
_UNKNOWN = (
    "not applied, because the base may already have these entries: {entries}; the result must "
    "name its commits, and this clone must have the commit of the base (git fetch --unshallow)"
)
_REMEDY = (
    "give a result of gnnbench ab --json or of gnnbench compare --json, or a run file of "
    "pytest --benchmark-compare"
)


def apply_excuses(result: Result) -> Result:
    """Return the result with all accepted changes and all rules of the settings applied to its verdicts.

    If a slowdown is within what the entries accept, *slower* becomes *accepted*. A benchmark that a rule
    ignores never fails: its reason names the rule, and the verdict without the rule. If it is unknown which
    entries the base already has, no entry applies, and a note names the entries.
    """
    thresholds = result.thresholds
    entries, is_base_known = _added_entries(thresholds.accepted, result.base, result.head)
    rows: list[Compared] = []
    for row in result.rows:
        accepting = [entry for entry in entries if is_base_known and entry.benchmark == row.fullname]
        excused = _apply_entries(row, accepting, thresholds.of(row.fullname))
        rows.append(_refuse_other_output(_apply_rule(excused, thresholds.rules)))
    if is_base_known:
        return replace(result, comparison=Comparison(rows))
    names = {row.fullname for row in rows}
    places = [entry.place for entry in entries if entry.benchmark in names]
    notes = [_UNKNOWN.format(entries=f"{units.listed(places, _MOST_NAMED)} of {_FILE}")] if places else []
    return replace(result, comparison=Comparison(rows), notes=(*result.notes, *notes))


def in_force(accepted: Accepted, base: Side, head: Side) -> list[Entry]:
    """Return the entries that the head has and the base lacks. Empty if the base's entries are unknown."""
    entries, is_base_known = _added_entries(accepted, base, head)
    return entries if is_base_known else []


def _added_entries(accepted: Accepted, base: Side, head: Side) -> tuple[list[Entry], bool]:
    """Return the entries that the head has and the base lacks, and whether the base's entries are known."""
    if not accepted.entries:
        return [], True
    current = git.full_hash(accepted.file.parents[1])  # this commit has the entries of the file on disk
    of_base = [entries_at(accepted.file, commit) for commit in base.commits] or [None]
    of_head = [entries_at(accepted.file, commit) or () for commit in head.commits if commit != current]
    old = [entry for entries in of_base for entry in entries or ()]
    new = [row for row in accepted.entries if row not in old and all(row in entries for entries in of_head)]
    return new, None not in of_base


def allowed(accepted: Accepted, base: Prepared, head: Prepared) -> dict[str, Allowed]:
    """Return the slowdown that the entries in force allow, by benchmark."""
    entries = in_force(accepted, Side.of(base), Side.of(head))
    names = dict.fromkeys(entry.benchmark for entry in entries)
    limits = {name: Allowed.of([entry for entry in entries if entry.benchmark == name]) for name in names}
    return {name: limit for name, limit in limits.items() if limit}


def _apply_entries(row: Compared, entries: Sequence[Entry], thresholds: Thresholds) -> Compared:
    """Excuse the output, the memory and the time of a benchmark as far as its entries accept them."""
    memory = row.memory and _excuse_memory(row.fullname, row.memory, entries, thresholds.rules)
    row = replace(row, memory=memory, results=_accept_output(row.results, entries))
    limit, judgement = Allowed.of(entries), row.judgement
    if limit is None:
        return row
    if judgement.verdict == "slower" and not limit.is_exceeded(judgement, thresholds):
        reason = f"{_ACCEPTED}{'; '.join(limit.reasons)}"
        judgement = replace(judgement, verdict="accepted", reason=reason, code=None)
    return replace(row, judgement=judgement, allowed=limit, notes=(*limit.notes(judgement), *row.notes))


def _excuse_memory(
    name: str, change: MemoryChange, entries: Sequence[Entry], settings: Settings
) -> MemoryChange:
    """Excuse an increase of memory if it is within the limit of the settings, or if entries accept it."""
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


def _accept_output(agreement: Agreement | None, entries: Sequence[Entry]) -> Agreement | None:
    """Excuse a different output if an entry accepts one."""
    reasons = dict.fromkeys(entry.reason for entry in entries if entry.result)
    if agreement is None or not agreement.fails or not reasons:
        return agreement
    return replace(agreement, excused=f"{_ACCEPTED}{'; '.join(reasons)}")


def _apply_rule(row: Compared, settings: Settings) -> Compared:
    """Excuse the time and the memory of a benchmark if a rule of the settings ignores the benchmark."""
    rule, before = settings.rule("ignore", row.fullname), row.judgement
    if rule is None:
        return row
    if row.memory and row.memory.fails:
        row = replace(row, memory=replace(row.memory, excused=f"ignored: {settings.reason(rule)}"))
    if before.verdict not in _FAILING:
        return row
    reason = f"{settings.reason(rule)}; without the rule: {before.verdict}, {before.reason}"
    return replace(row, judgement=replace(before, verdict="ignored", reason=reason))


def _refuse_other_output(row: Compared) -> Compared:
    """Make a benchmark *incomparable* if its output makes times incomparable, and nothing excuses that."""
    if not row.has_different_output:
        return row
    assert row.results
    before = row.judgement
    code = Reason.OTHER_RESULT if row.results.status == "differ" else Reason.ONLY_REPEATED
    reason = f"{code.value}: {row.results.reason}"
    if before.verdict == "incomparable" and before.reason != row.results.reason:
        reason += f"; {before.reason}"
    return replace(row, judgement=replace(before, verdict="incomparable", reason=reason, code=code))


def new_entries(
    path: Path, names: Sequence[str], accepted: Accepted, reason: str, *, results: bool = False
) -> list[Entry]:
    """Return an entry for each named benchmark of a saved result, or without names for each worse one.

    `results`: whether different outputs are accepted too.
    """
    result = _read(path)
    rows = {row.fullname: row for row in result.rows}
    for name in names:
        if name not in rows:
            raise UsageError(f"{path}: {unknown_name('benchmark', name, rows)}")
    worse = [row for row in result.rows if row.is_worse]
    selection = [rows[name] for name in dict.fromkeys(names)] or [
        row for row in worse if results or not row.has_different_output
    ]
    if not selection:
        outputs = units.count(len(worse), "different output")
        hint = f"; --result accepts {outputs}" if worse else ""
        raise UsageError(
            f"{path}: no benchmark is slower or needs more memory, so there is nothing to accept{hint}"
        )
    _check_commits(path, result.base, result.head)
    present = {entry.benchmark: entry for entry in in_force(accepted, result.base, result.head)}
    entries = []
    for row in selection:
        name, judgement, memory = row.fullname, row.judgement, row.memory
        if not row.is_worse:
            raise UsageError(
                f"{path}: {name} is {judgement.verdict}, not slower ({judgement.reason}), and needs "
                "no memory beyond its limit; leave it out"
            )
        if row.has_different_output and not results:
            raise UsageError(f"{path}: {name} has {judgement.reason}; give --result to accept that")
        if name in present:
            problem = f"{present[name].place} already accepts a change of {name}"
            json_io.refuse(path, problem, "remove that entry, and compare again")
        ratio, low, high = 1.0, 1.0, 1.0
        if judgement.verdict == "slower":
            ratio, low, high = judgement.ratio or 1.0, judgement.low or 1.0, judgement.high or 1.0
        more_bytes = memory.head_bytes - memory.base_bytes if memory and memory.fails else 0
        entries.append(Entry(name, reason, ratio, low, high, more_bytes, result=row.has_different_output))
    return entries


def _read(path: Path) -> Result:
    """Read a file that is a saved result, or a run file with a result in it."""
    content = json_io.read(path, _REMEDY)
    if kind(content) == "run":
        content = run_file.parse(path, content).part.compared
        if not content:
            json_io.refuse(path, "a run file without verdicts: it was not compared", _REMEDY)
    return parse(path, content)


def _check_commits(path: Path, base: Side, head: Side) -> None:
    """Refuse a result unless the commits of both sides are known, and the code of the sides differs."""
    for name, side in (("base", base), ("head", head)):
        if not side.commits:
            json_io.refuse(path, f"the commit of the {name} is unknown", "compare commits of a repository")
    if base.commits == head.commits and not head.dirty:
        reason = f"both sides are commit {base.commits[0][:SHORT_COMMIT]}, so no change can be accepted"
        json_io.refuse(path, reason, "compare two commits")
