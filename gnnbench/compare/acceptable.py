"""The slower benchmarks of a saved result, and the entries that accept them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from .. import git, json_io
from ..errors import UsageError
from ..measure import extra_info
from ..results import benchmark, former_names, run_file
from ..results.accepted import PATTERN, Accepted, Entry
from . import acceptance, accepted, result_file
from .memory import MemoryChange
from .revision import Revision
from .verdict import Judgement

_REMEDY = (
    "give a result of gnnbench ab --json or of gnnbench compare --json, or a run file of "
    "pytest --benchmark-compare"
)
_SHORT_COMMIT = 10
_MOST_COMMITS = 50
"""Of a change, whose patch ids are saved one by one: it may be rebased."""


@dataclass(frozen=True)
class Row:
    """The verdict on a benchmark, and the commits that were compared."""

    judgement: Judgement
    base: Revision
    head: Revision
    memory: MemoryChange | None = None

    @property
    def fails(self) -> bool:
        """Whether it is slower, or needs more memory."""
        return self.judgement.verdict == "slower" or (self.memory is not None and self.memory.fails)


@dataclass(frozen=True)
class Judged:
    """The benchmarks of a saved result that have a verdict."""

    path: Path
    rows: Mapping[str, Row]

    def names(self) -> list[str]:
        """Return the ids of those that are slower or need more memory.

        Raises:
            UsageError: there are none.
        """
        found = [name for name, row in self.rows.items() if row.fails]
        if not found:
            raise UsageError(
                f"{self.path}: no benchmark is slower or needs more memory, so there is nothing to accept"
            )
        return found


def read(path: Path) -> Judged:
    """Read a saved result of any kind that has verdicts.

    Raises:
        UsageError: the file cannot be used.
    """
    content, raw = former_names.read(path, "result", run_file.MAX_BYTES, _REMEDY)
    if result_file.kind(content) != "run":
        found = result_file.parse(path, content)
        rows = {
            row.fullname: Row(row.judgement, *found.revisions, row.memory) for row in found.comparison.rows
        }
        return Judged(path, rows)
    run = run_file.parse(path, run_file.check(path, content, raw))
    head = Revision.of_runs([run])
    rows = {}
    for name, entry in benchmark.entries(content).items():
        saved = extra_info.part(entry.get("extra_info")).get("comparison")
        try:
            if saved:
                base = Revision.from_json(saved.get("base"))
                memory = MemoryChange.from_json(saved.get("memory"))
                rows[name] = Row(Judgement.from_json(saved), base, head, memory)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            json_io.refuse(path, f"damaged: the comparison of {name}: {error!r}", _REMEDY)
    if not rows:
        json_io.refuse(path, "a run file without verdicts: it was not compared", _REMEDY)
    return Judged(path, rows)


def entries(
    judged: Judged,
    names: Sequence[str],
    found: Accepted,
    folder: Path,
    reason: str,
    today: date,
    until: date | None = None,
) -> tuple[list[Entry], set[int]]:
    """Return an entry for each benchmark, and the numbers of the entries that they replace.

    If something was accepted before that is in force for the same base and head, a new entry has what is
    beyond it. It replaces an entry only if both have the same head.

    Args:
        judged: the saved result.
        names: ids of benchmarks in it.
        found: the accepted slowdowns so far.
        folder: a folder in the project's repository.
        reason: why the slowdowns are intended.
        today: the date of the entries.
        until: the last day on which they are accepted.

    Raises:
        UsageError: a benchmark is neither slower nor needs more memory, or not more than accepted; or the
            commit that made it so is unknown.
    """
    author = git.author(folder)
    if author is None:
        raise UsageError(
            "git does not know who accepts this; set git config user.name and git config user.email"
        )
    new, replaced = [], set()
    checked = acceptance.Acceptance(found, folder, today)
    for name in names:
        row = judged.rows[name]
        if not row.fails:
            raise UsageError(
                f"{judged.path}: {name} is {row.judgement.verdict}, not slower ({row.judgement.reason}), and "
                "does not need more memory; leave it out"
            )
        base, head = _commits(judged.path, row, folder)
        ours = [one for one in found.entries if one.benchmark == name]
        in_force = checked.in_force(ours, row.base, row.head)
        replaced |= {one.number for one in in_force if one.head == head}
        before = [one for one in in_force if one.head != head]
        more_bytes = _more_bytes(row.memory, before)
        if row.judgement.verdict == "slower":
            numbers = _beyond(judged.path, name, row.judgement, [one for one in before if one.slows])
        elif more_bytes:
            numbers = (1.0, 1.0, 1.0)
        else:
            json_io.refuse(judged.path, _within(name, before), "leave it out")
        patches = _patches(folder, base, head)
        new.append(Entry(name, *numbers, base, head, author, today, reason, until, patches, more_bytes))
    return new, replaced


def _more_bytes(found: MemoryChange | None, before: Sequence[Entry]) -> int:
    """Return by how much more memory a benchmark needs than was accepted before; 0: no more."""
    if found is None or not found.fails:
        return 0
    return max(found.head_bytes - found.base_bytes - sum(one.more_bytes for one in before), 0)


def _within(name: str, before: Sequence[Entry]) -> str:
    return f"{name} is within what {before[-1].place} accepts"


def _beyond(path: Path, name: str, found: Judgement, before: Sequence[Entry]) -> tuple[float, float, float]:
    """Return ratio and interval of a slowdown, without what was accepted before.

    Raises:
        UsageError: it is within what was accepted before.
    """
    assert found.ratio
    assert found.low
    assert found.high
    if not before:
        return found.ratio, found.low, found.high
    excess, width = accepted.beyond(found, accepted.allowed(before))
    if excess <= width:
        json_io.refuse(path, _within(name, before), "leave it out")
    ratio, low, high = (math.exp(excess + change) for change in (0.0, -width, width))
    return ratio, low, high


def _commits(path: Path, row: Row, folder: Path) -> tuple[str, str]:
    """Return the commits of base and head.

    Raises:
        UsageError: no single commit made the benchmark slower, or git does not have it.
    """
    for side, revision in (("base", row.base), ("head", row.head)):
        if revision.dirty:
            why = f"the {side} had uncommitted changes, which no commit contains"
            json_io.refuse(path, why, "commit them, and compare again")
        if not revision.commits:
            json_io.refuse(path, f"the commit of the {side} is unknown", "compare commits of a repository")
        if len(revision.commits) > 1:
            shown = ", ".join(one[:_SHORT_COMMIT] for one in revision.commits)
            json_io.refuse(path, f"the {side} has several commits: {shown}", "compare runs of one commit")
    found = []
    for commit in (row.base.commits[0], row.head.commits[0]):
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


def _patches(folder: Path, base: str, head: str) -> tuple[str, ...]:
    """Return the patch ids of an entry, see `Entry.patches`."""
    start = git.merge_base(folder, base, head)
    whole = start and git.patch_id(folder, start, head, PATTERN)
    if not start or not whole:
        return ()
    each = sorted(git.patch_ids(folder, start, head, PATTERN) - {whole})
    return (whole, *each) if len(each) <= _MOST_COMMITS else (whole,)
