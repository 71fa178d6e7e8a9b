"""The records that a session is compared with, and how their code is built again."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial

import pytest

from .. import units
from ..compare import runs
from ..compare.comparison import Compared, Comparison
from ..compare.verdict import Thresholds
from ..errors import UsageError
from ..measure.sources import Sources
from ..results.base import choose
from ..results.baseline import Record
from ..results.run_file import RunFile
from ..variants import rebuild, variant
from . import records
from .session import places, run_of
from .turns import Group


class RecordedBase:
    """For each benchmark of a session, the newest record that has it.

    Args:
        config: of the session.
        head: the session.
        thresholds: minimum effect of interest, and levels.
        known: the records of this machine, the newest first.
        vanished: returns the records' benchmarks that this session should have timed but did not.

    Raises:
        UsageError: a record cannot be used.
    """

    def __init__(
        self,
        config: pytest.Config,
        head: RunFile,
        thresholds: Thresholds,
        known: Sequence[Record],
        vanished: Callable[[Sequence[RunFile]], Collection[str]],
    ) -> None:
        self._head, self._known = head, known
        self.newest = known[0].id
        base = choose(known, head.benchmarks, places(config))
        self.runs, self.records = base.runs, base.records
        options = run_of(config).options
        self.compare: Callable[[Sequence[RunFile]], Comparison] = partial(
            runs.compare,
            self.runs,
            thresholds=thresholds,
            vanished=vanished(self.runs),
            confirming=options.confirm,
        )
        self.first = self.compare([head])
        """The comparison of the records' times with those of the session."""
        other = runs.differing_fields(self.runs, [head])
        self.is_comparable = not other
        """Whether the records' times were measured with this session's settings."""
        self.groups: list[Group] = []
        """The benchmarks to time in turns."""
        self.differences: list[str] = []
        """What differs between the code of each record and of this session, a line each."""
        self.lines: list[str] = []
        """The records, and what cannot be timed in turns."""
        rows = [row for row in self.first.rows if row.fullname in self.records]
        for record, count in Counter(self.records[row.fullname] for row in rows).items():
            self.lines.append(records.described(record, self.runs, units.count(count, "benchmark")))
            saved = self._sources(record)
            self.differences.extend(differences(f"record {record.id}", saved, head))
            ours = [row for row in rows if self.records[row.fullname] == record and is_open(row, head)]
            if ours and options.turns:
                self._add_group(record, ours, saved)
            elif ours:
                what = units.count(len(ours), "benchmark")
                self.lines.append(self.across(what, f"record {record.id}", "--gnn-turns never"))
        if other:
            fields = runs.describe_fields(other)
            self.lines.append(f"the times of the record are not compared: other settings, {fields}")

    def across(self, what: str, title: str, reason: str) -> str:
        """Return the line that says why benchmarks are not timed in turns."""
        instead = f"compared with the times of {title} only" if self.is_comparable else "not compared"
        return f"{what} {instead}: {reason}"

    def _sources(self, record: Record) -> Sources:
        saved = next(run.sources for run in self.runs if run.path in record.files)
        if saved is None:
            raise UsageError(f"{record.files[0]} has no environment; record again")
        return saved

    def _add_group(self, record: Record, rows: Sequence[Compared], saved: Sources) -> None:
        """Find out how a record's code can be built again, for benchmarks whose code changed."""
        title = f"record {record.id}"
        if packages := rebuild.without_git(saved):
            unchanged = [row for row in rows if self._is_unchanged(row.fullname, packages)]
            if len(unchanged) < len(rows):
                why = f"they run other code of {' and '.join(sorted(packages))}, which is not in git"
                self.lines.append(
                    self.across(units.count(len(rows) - len(unchanged), "benchmark"), title, why)
                )
            rows = unchanged
        assert self._head.sources
        try:
            text = rebuild.variant(saved, self._head.sources)
            base = variant.parse(text)
            is_rebuilt = text != variant.WORKING_TREE
            why = "commit and packages are the record's; a setting or a value differs"
        except UsageError as error:
            is_rebuilt, why = False, str(error)
        if not is_rebuilt:
            self.lines.append(self.across(units.count(len(rows), "benchmark"), title, why))
            return
        ranked = sorted(rows, key=lambda row: row.judgement.ratio or 0.0, reverse=True)
        is_unique = [other.id for other in self._known].count(record.id) == 1
        asked = record.id if is_unique else f"{record.id}_{record.name}"
        if ranked:
            self.groups.append(Group(base, title, asked, tuple(row.fullname for row in ranked)))

    def _is_unchanged(self, name: str, packages: Collection[str]) -> bool:
        """Tell whether a benchmark runs the same functions and values of some packages as in its record."""
        both = [run for run in (*self.runs, self._head) if name in run.benchmarks]
        prints = [run.benchmarks[name].part.comparable_fingerprint for run in both]
        found = [one.of_packages(packages) for one in prints if one]
        return len(found) == len(prints) and all(one == found[0] for one in found)


def is_open(row: Compared, head: RunFile) -> bool:
    """Tell whether a benchmark of a session has to be judged by time."""
    return row.fullname in head.benchmarks and not row.judgement.same_code


def differences(title: str, then: Sources, head: RunFile) -> list[str]:
    """Return a line that names what differs between a base and a session, if anything does."""
    assert head.sources
    found = rebuild.differences(then, head.sources)
    return [f"since {title}: {', '.join(found)}"] if found else []
