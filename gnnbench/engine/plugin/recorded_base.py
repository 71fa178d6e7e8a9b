"""The records that a session is compared with: their code is built again, or new processes confirm."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from statistics import median

import pytest

from ..drive import runs
from ..ground import signals, units
from ..ground.errors import UsageError
from ..ground.files import scratch
from ..judge.comparison import Compared, Comparison
from ..judge.verdict import Thresholds
from ..measure.sources import Sources
from ..process.variants import fresh, rebuild, variant
from ..store import run_file
from ..store.base import choose, matches
from ..store.baseline import Record
from ..store.run_file import RunFile
from . import records, writing
from .session import options_of, places
from .turns import Group

_FIRST_AGAIN = 101
"""Number of the first process that times again; the processes of a record have smaller ones."""
NAMED = 3
"""Most benchmarks that a line names; others are counted."""
_NOTABLE = 1.1
"""Smaller factors since a record are not reported: it may be of a few processes."""


class RecordedBase:
    """For each benchmark of a session, the newest record that has it."""

    def __init__(
        self,
        config: pytest.Config,
        head: RunFile,
        thresholds: Thresholds,
        known: Sequence[Record],
        vanished: Callable[[Sequence[RunFile]], Mapping[str, bool]],
    ) -> None:
        self._head, self._known = head, known
        base = choose(known, head.benchmarks, places(config))
        options, untimed = options_of(config), vanished(base.runs)
        there = {name: row for run in reversed(base.runs) for name, row in run.benchmarks.items()}
        names = matches(
            {name: there[name] for name in sorted(untimed, key=untimed.__getitem__, reverse=True)},
            {name: row for name, row in head.benchmarks.items() if name not in there},
        )
        base = base.renamed(names)
        self.runs, self.records = base.runs, base.records
        self.gone = {name for name, selected in untimed.items() if selected} - set(names.values())
        """The benchmarks that this session should have timed, but did not under any name."""
        self.new = [name for name in head.benchmarks if name not in base.records]
        self.compare: Callable[[Sequence[RunFile]], Comparison] = partial(
            runs.compare,
            self.runs,
            thresholds=thresholds,
            vanished={name for name in self.gone if not options.shard or options.shard.has(name)},
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
        if names:
            others = [f"{now} was {then}" for now, then in names.items()]
            what = f"{units.count(len(names), 'benchmark')} under another name than in the record"
            self.lines.append(f"{what}: {units.listed(others, NAMED)}")
        rows = [row for row in self.first.rows if row.fullname in self.records]
        for record, count in Counter(self.records[row.fullname] for row in rows).items():
            run = next(run for run in self.runs if run.path in record.files)
            self.lines.append(records.described(record, run, units.count(count, "benchmark")))
            if (saved := run.sources) is None:
                raise UsageError(f"{record.files[0]} has no environment; record again")
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

    def _add_group(self, record: Record, rows: Sequence[Compared], saved: Sources) -> None:
        """Find out how a record's code can be built again, for benchmarks whose code changed."""
        title = f"record {record.id}"
        if packages := rebuild.without_git(saved):
            unchanged = [row for row in rows if self._is_unchanged(row.fullname, packages)]
            if changed := len(rows) - len(unchanged):
                why = f"they run other code of {' and '.join(sorted(packages))}, which is not in git"
                self.lines.append(self.across(units.count(changed, "benchmark"), title, why))
            rows = unchanged
        assert self._head.sources
        why = "commit and packages are the record's; a setting or a value differs"
        try:
            base = variant.parse(rebuild.variant(saved, self._head.sources))
        except UsageError as error:
            base, why = None, str(error)
        if base is None or base.text == variant.WORKING_TREE:
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


def since_record(times: Iterable[tuple[float, float]]) -> float | None:
    """Return by which factor the machine's times changed since a record; None: hardly, or unknown.

    It is the median over the benchmarks.

    Args:
        times: the logarithms of the times of the same code now and then, by benchmark.
    """
    changes = [now - then for now, then in times]
    if not changes or abs(middle := median(changes)) < math.log(_NOTABLE):
        return None
    return math.exp(middle)


def timed_again(
    config: pytest.Config,
    found: Iterable[Compared],
    thresholds: Thresholds,
    passed: Collection[str],
    processes: int,
) -> list[RunFile]:
    """Time again, in new processes, what looks slower than its record and passed; return their run files."""
    suspects = [row.fullname for row in found if row.judgement.looks_slower(thresholds.of(row.fullname))]
    names = [name for name in suspects if name in passed]
    parameters, reporter = config.invocation_params, config.pluginmanager.get_plugin("terminalreporter")
    files = []
    with signals.as_ctrl_c(), scratch() as folder:
        listing = folder / "names"
        listing.write_text("\n".join(names), encoding="utf-8")
        # With "=": pytest would use a path that is a separate argument to determine its rootdir.
        arguments = [*parameters.args, f"--gnn-again={listing}"]
        for number in range(processes if names else 0):
            count = units.count(len(suspects), "benchmark")
            process = f"new process {number + 1} of {processes}"
            writing.say(reporter, f"{count} may be slower: timing again, {process}")
            output = folder / f"{number}.json"
            fresh.run(arguments, output, parameters.dir, _FIRST_AGAIN + number, lambda _: None)
            files.append(run_file.read(output))
    return files
