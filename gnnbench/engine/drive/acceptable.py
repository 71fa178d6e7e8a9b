"""The slower benchmarks of a saved result, and the entries that accept them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from ..ground import git, json_io
from ..ground.errors import UsageError, unknown_name
from ..judge.accepted import Accepted, Entry
from ..judge.allowed import Allowed
from ..judge.comparison import Compared
from ..judge.memory import MemoryChange
from ..judge.verdict import Judgement
from ..store import run_file
from . import result
from .gate import Verdict
from .settle import Revision, Sides, in_force

_REMEDY = (
    "give a result of gnnbench ab --json or of gnnbench compare --json, or a run file of "
    "pytest --benchmark-compare"
)
_SHORT_COMMIT = 10


def _read(path: Path) -> Mapping[str, tuple[Compared, Sides]]:
    """Read the verdicts of a saved result, of any kind that has some, and the commits that were compared."""
    content = json_io.read(path, _REMEDY)
    if result.kind(content) != "run":
        found = result.parse(path, content)
        sides = found.base.revision, found.head.revision
        return {row.fullname: (row, sides) for row in found.rows}
    run = run_file.parse(path, run_file.check(path, content))
    head, rows = Revision.of_runs([run]), {}
    for name, one in run.benchmarks.items():
        saved = one.part.comparison
        with json_io.refusing(path, f"damaged: the comparison of {name}", _REMEDY):
            if saved:
                verdict = Verdict.of(saved)
                rows[name] = verdict.row, (verdict.base, head)
    if not rows:
        json_io.refuse(path, "a run file without verdicts: it was not compared", _REMEDY)
    return rows


def entries(
    path: Path,
    names: Sequence[str],
    accepted: Accepted,
    reason: str,
    *,
    results: bool = False,
) -> tuple[list[Entry], set[int]]:
    """Return an entry for each benchmark, and the numbers of the entries that they replace.

    If something was accepted before that is in force for the same base and head, a new entry has what is
    beyond it. It replaces an entry only if both have the same head.

    `names`: ids of benchmarks in it; empty: all that are worse, at most one of them by a different output.
    """
    rows = _read(path)
    for name in names:
        if name not in rows:
            raise UsageError(f"{path}: {unknown_name('benchmark', name, rows)}")
    others = [name for name, (row, _) in rows.items() if row.has_other_result]
    if results and not names and len(others) > 1:
        what = f"{len(others)} benchmarks have a different output; name those that are meant to"
        raise UsageError(f"{path}: {what}: {', '.join(others)}")
    names = list(dict.fromkeys(names)) or [
        name for name, (row, _) in rows.items() if row.is_worse and (results or not row.has_other_result)
    ]
    if not names:
        more = f"; {len(others)} with a different output: --result" if others else ""
        raise UsageError(
            f"{path}: no benchmark is slower or needs more memory, so there is nothing to accept{more}"
        )
    author = git.author(accepted.folder)
    if author is None:
        raise UsageError(
            "git does not know who accepts this; set git config user.name and git config user.email"
        )
    new, replaced = [], set()
    for name in names:
        row, sides = rows[name]
        if not row.is_worse:
            raise UsageError(
                f"{path}: {name} is {row.judgement.verdict}, not slower ({row.judgement.reason}), and needs "
                "no memory beyond its limit; leave it out"
            )
        if row.has_other_result and not results:
            raise UsageError(f"{path}: {name} has {row.judgement.reason}; give --result to accept that")
        base, head = _commits(path, sides, accepted.folder)
        ours = in_force(accepted, sides)[name]
        before = [one for one in ours if one.head != head]
        replaced |= {one.number for one in ours if one.head == head}
        ratios, more_bytes = _beyond(row.judgement, before), _more_bytes(row.memory, before)
        if not (ratios or more_bytes or row.has_other_result):
            json_io.refuse(path, f"{name} is within what {before[-1].place} accepts", "leave it out")
        numbers = ratios or (1.0, 1.0, 1.0)
        today = date.today()  # noqa: DTZ011 - of the user's calendar
        entry = Entry(name, *numbers, base, head, author, today, reason, more_bytes)
        new.append(replace(entry, result=row.has_other_result))
    return new, replaced


def _more_bytes(found: MemoryChange | None, before: Sequence[Entry]) -> int:
    """Return by how much more memory a benchmark needs than was accepted before; 0: no more."""
    if found is None or not found.fails:
        return 0
    return max(found.head_bytes - found.base_bytes - sum(one.more_bytes for one in before), 0)


def _beyond(found: Judgement, before: Sequence[Entry]) -> tuple[float, float, float] | None:
    """Return the ratio of an entry and its interval: what is beyond those before it; None: nothing is."""
    if found.verdict != "slower":
        return None
    assert found.ratio
    assert found.low
    assert found.high
    limit = Allowed.of(before)
    if limit is None:
        return found.ratio, found.low, found.high
    ratio, low, high = limit.beyond(found)
    return (ratio, low, high) if low > 1 else None


def _commits(path: Path, sides: Sides, folder: Path) -> tuple[str, str]:
    """Return the full hashes of the commits of base and head."""
    found = []
    for side, revision in zip(("base", "head"), sides, strict=True):
        if revision.dirty:
            why = f"the {side} had uncommitted changes, which no commit contains"
            json_io.refuse(path, why, "commit them, and compare again")
        if not revision.commits:
            json_io.refuse(path, f"the commit of the {side} is unknown", "compare commits of a repository")
        if len(revision.commits) > 1:
            shown = ", ".join(one[:_SHORT_COMMIT] for one in revision.commits)
            json_io.refuse(path, f"the {side} has several commits: {shown}", "compare runs of one commit")
        (commit,) = revision.commits
        full = git.full_hash(folder, commit) if git.HASH.fullmatch(commit) else None
        if full is None:
            why = f"git does not have commit {commit[:_SHORT_COMMIT]} here"
            json_io.refuse(path, why, "fetch it, or go to its repository")
        found.append(full)
    base, head = found
    if base == head:
        why = f"both sides are commit {base[:_SHORT_COMMIT]}, so it is not a commit that made it slower"
        json_io.refuse(path, why, "compare two commits")
    if git.merge_base(folder, base, head) == head:
        why = f"the base contains the head's commit {head[:_SHORT_COMMIT]}"
        json_io.refuse(path, why, "compare an older base with a newer head")
    return base, head
