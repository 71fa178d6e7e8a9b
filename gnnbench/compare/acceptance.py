"""The accepted slowdowns of a project that are in force between two commits."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Literal

from .. import git, units
from ..results.accepted import PATTERN, Accepted, Entry
from . import accepted
from .comparison import Allowed, Compared, Comparison
from .revision import Revision
from .verdict import Thresholds

_State = Literal["in force", "elsewhere", "ended", "expired", "unknown"]
_NAMED = 3
"""Most entries that a line names."""


class Acceptance:
    """Judges benchmarks with the accepted slowdowns, and notes what is to be said about them.

    An entry is in force if the head contains its change and the base does not. A commit contains the change
    if

    - the entry's head is in its history; or
    - its history has the same change (git patch-id), as one commit (a squash) or as all of its commits (a
      rebase); or
    - a commit of its history wrote the entry together with changes of other files: a squash of the entry's
      branch, with later commits of that branch.

    Args:
        found: the entries.
        folder: a folder in the project's repository.
        today: the day on which entries expire or not.
    """

    def __init__(self, found: Accepted, folder: Path, today: date | None = None) -> None:
        self._found, self._folder, self._today = found, folder, today or date.today()  # noqa: DTZ011 - the user's day
        self._contains: dict[tuple[str, Entry], bool | None] = {}
        self._noticed: dict[_State, dict[Entry, None]] = defaultdict(dict)
        self._recovered: dict[str, None] = {}

    def judge(
        self,
        found: Comparison,
        thresholds: Thresholds,
        sides: Callable[[str], tuple[Revision, Revision]],
    ) -> Comparison:
        """Return the verdicts with what is accepted.

        Args:
            found: the verdicts as if nothing was accepted.
            thresholds: of the verdicts.
            sides: returns the revisions of base and head of a benchmark.
        """
        if not self._found.entries:
            return found
        rows = [self._judge(row, thresholds, sides, drifted=found.shared is not None) for row in found.rows]
        return replace(found, rows=rows)

    def _judge(
        self,
        row: Compared,
        thresholds: Thresholds,
        sides: Callable[[str], tuple[Revision, Revision]],
        *,
        drifted: bool,
    ) -> Compared:
        ours = [one for one in self._found.entries if one.benchmark == row.fullname]
        entries = self._noted(ours, *sides(row.fullname)) if ours else []
        own = thresholds.of(row.fullname)
        slowing = [one for one in entries if one.slows]
        row = accepted.judge(row, slowing, own)
        row = replace(row, memory=accepted.judge_memory(row.memory, entries))
        # With a drift removed, a ratio is relative: a slowdown of all benchmarks is not in it.
        if not drifted and accepted.is_recovered(row, own):
            self._recovered[self._recovery(row, slowing)] = None
        if any(one.more_bytes for one in entries) and row.memory and not row.memory.is_more:
            where = " and ".join(_memory_of(one) for one in entries if one.more_bytes)
            text = f"{row.fullname} does not need more memory any more: remove {where} of {self._found.name}"
            self._recovered[text] = None
        return row

    def _noted(self, entries: Sequence[Entry], base: Revision, head: Revision) -> list[Entry]:
        """Return the entries that are in force, and note the others that matter."""
        for one in entries:
            self._noticed[self._state(one, base, head)][one] = None
        return self.in_force(entries, base, head)

    def allowed(self, base: Revision, head: Revision) -> dict[str, Allowed]:
        """Return how much slower benchmarks may be, of those for which an entry is in force."""
        found: dict[str, list[Entry]] = {}
        for one in self.in_force(self._found.entries, base, head):
            if one.slows:
                found.setdefault(one.benchmark, []).append(one)
        return {name: accepted.allowed(entries) for name, entries in found.items()}

    def in_force(self, entries: Sequence[Entry], base: Revision, head: Revision) -> list[Entry]:
        """Return the entries that are in force between two sides.

        What git does not know does not accept anything.
        """
        return [one for one in entries if self._state(one, base, head) == "in force"]

    def _state(self, entry: Entry, base: Revision, head: Revision) -> _State:
        in_head = self._all_contain(entry, head)
        if in_head is False:
            return "elsewhere"
        if in_base := self._any_contains(entry, base):
            return "ended"
        if entry.is_expired(self._today):
            return "expired"
        return "unknown" if None in (in_head, in_base) else "in force"

    def _all_contain(self, entry: Entry, side: Revision) -> bool | None:
        found = [self._contained(entry, commit) for commit in side.commits]
        if False in found:
            return False
        return None if None in found or not found else True

    def _any_contains(self, entry: Entry, side: Revision) -> bool | None:
        found = [self._contained(entry, commit) for commit in side.commits]
        if True in found:
            return True
        return None if None in found or not found else False

    def _contained(self, entry: Entry, commit: str) -> bool | None:
        """Tell whether a commit contains an entry's change; None: git does not know."""
        key = commit, entry
        if key not in self._contains:
            self._contains[key] = contains(self._folder, commit, entry)
        return self._contains[key]

    def _recovery(self, row: Compared, entries: Sequence[Entry]) -> str:
        assert row.allowed
        ratio = row.judgement.ratio
        now = "it runs the same code as the base" if row.judgement.same_code else units.ratio(ratio)
        where = " and ".join(f"entry {one.number}" for one in entries)
        return (
            f"{row.fullname} is not as slow as accepted any more "
            f"({now}, accepted {units.ratio(row.allowed.ratio)}): remove {where} of {self._found.name}"
        )

    def lines(self) -> list[str]:
        """Return what is to be said after `judge`: one line for each kind of entry, if there are any."""
        found = list(self._recovered)
        named = {
            state: f"{_named(entries)} of {self._found.name}"
            for state, entries in self._noticed.items()
            if entries
        }
        if "expired" in named:
            days = ", ".join(sorted({f"{one.until}" for one in self._noticed["expired"]}))
            found.append(
                f"expired ({days}), so not accepted any more: {named['expired']}; "
                "make it faster, or accept it again"
            )
        if "ended" in named:
            found.append(f"ended, because the base already contains what was accepted: {named['ended']}")
        if "unknown" in named:
            found.append(
                f"not accepted, because it is unknown whether base and head contain it: {named['unknown']}; "
                "results must name their commits, and git must have their history (git fetch --unshallow)"
            )
        return found


def contains(folder: Path, commit: str, entry: Entry) -> bool | None:
    """Tell whether a commit contains the change of an entry, see `Acceptance`; None: git does not know.

    Args:
        folder: a folder in the repository.
        commit: the commit.
        entry: the entry.
    """
    if git.full_hash(folder, commit) is None:
        return None
    if git.merge_base(folder, entry.head, commit) == git.full_hash(folder, entry.head) is not None:
        return True
    if git.full_hash(folder, entry.base) is None:
        return None
    if entry.patches:
        whole, *each = entry.patches
        there = _changes(folder, entry.base, commit)
        if whole in there or (each and there.issuperset(each)):
            return True
    if git.changed_together(folder, entry.base, commit, entry.head, PATTERN):
        return True
    return None if git.is_shallow(folder) else False


@cache
def _changes(folder: Path, after: str, commit: str) -> frozenset[str]:
    """Return the patch ids since a commit; several entries ask for the same."""
    return frozenset(git.patch_ids(folder, after, commit, PATTERN))


def _memory_of(entry: Entry) -> str:
    """Return the part of an entry that accepts more memory."""
    return f"more_bytes of entry {entry.number}" if entry.slows else f"entry {entry.number}"


def _named(entries: Iterable[Entry]) -> str:
    names = [one.place for one in entries]
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return ", ".join([*names[:_NAMED], *more])
