"""What `pytest --benchmark-compare` judges: the benchmarks of a session, against a record or a variant.

The base is built again, and what runs other code is timed in turns with it. Where that is impossible, a
record's times are compared with those of the session, and with those of new processes.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from ..ground import codec, signals, units
from ..ground.errors import UsageError
from ..ground.files import scratch
from ..judge.choosing import NOT_REACHED
from ..judge.comparison import Compared, Comparison
from ..judge.verdict import Judgement, Thresholds, confirmed
from ..measure.sources import Sources
from ..process.pairs import Watcher
from ..process.plan import Plan
from ..process.variants import fresh, rebuild, variant
from ..process.variants.prepare import both
from ..process.variants.variant import Variant
from ..store import left_out, run_file
from ..store.baseline import Record
from ..store.run_file import RunFile
from . import coordinator, runs
from .repeat import Repeat
from .result import Result, Side
from .settle import Revision, settle

_FIRST_AGAIN = 100
"""Number before that of the first process that times again; the processes of a record have smaller ones."""
_NOTABLE = 1.1
"""Smaller factors since a record are not reported: it may be of a few processes."""
_UNCHANGED = "commit and packages are the record's; a setting or a value differs"
_NOT_BUILT = "the code that differs could not be built again"


@dataclass(frozen=True)
class Base:
    """What a session is compared with."""

    title: str
    """`record 0001`, or the variant as the user typed it."""
    against: str
    """The same, as it is saved: `0001`."""
    variant: Variant | None = None
    """Its code. None if that of a record is not built, see `of_record`."""
    runs: Sequence[RunFile] = ()
    """The processes of a record; empty: it is a variant."""
    environment: str = ""
    """The record's."""


def of_record(record: Record) -> Base:
    """Return a record as a base."""
    return Base(f"record {record.id}", record.id, None, record.read(), record.environment)


@dataclass(frozen=True)
class Verdict:
    """What a run file has of a benchmark that was compared."""

    row: Compared
    against: str | None = None
    """The number of the record, or the variant. None if the record does not have it."""
    in_turns: bool = False
    """Whether it was timed interleaved with the base, so that processes are pairs."""
    base: Revision = field(default_factory=Revision)

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> "Verdict":
        """Read one.

        Raises:
            ValueError: it is damaged.
        """
        found = codec.decode(saved, cls)
        found.row.judgement.check()
        return found


@dataclass(frozen=True)
class Turns:
    """How benchmarks were timed in turns with a base."""

    against: str
    base: Side
    seconds: float | None
    repeat: Repeat | None = None


@dataclass(frozen=True)
class Terms:
    """How the benchmarks of a run were judged."""

    thresholds: Thresholds
    turns: tuple[Turns, ...] = ()


@dataclass
class Judging:
    """The verdicts on a session's benchmarks; `head` is the session, as if it was read from a run file."""

    head: RunFile
    base: Base
    thresholds: Thresholds
    confirm: int = 0
    """In how many new processes a slowdown since another session must be confirmed."""
    turns: bool = True
    """Whether the base is built to time it in turns."""
    missing: Collection[str] = ()
    """Benchmarks of the record that the session should have timed, but did not."""
    names: Sequence[str] = ()
    """What is timed in turns with the base, the most important first."""
    differences: list[str] = field(default_factory=list)
    """What differs between the base and the session, a line."""
    lines: list[str] = field(default_factory=list)
    """What the verdicts are based on."""
    result: Result | None = None
    """What came out in turns. None if nothing was timed so, or the base cannot be built or run."""
    in_turns: dict[str, Compared] = field(default_factory=dict)
    """The verdicts of it that count, by id."""
    comparison: Comparison = field(default_factory=lambda: Comparison([]))

    def __post_init__(self) -> None:
        """Compare what is known before anything is timed in turns."""
        base, head = self.base, self.head
        if not base.runs:
            if not self.turns:
                raise UsageError(f"{base.title} can be compared in turns only: leave out --gnn-turns never")
            self.names = [*head.benchmarks]
            self.comparison = Comparison([_waiting(head, name) for name in self.names])
            return
        self.comparison = self._compare([head])
        if base.runs[0].sources is None:
            raise UsageError(f"{base.runs[0].path} has no environment; record again")
        self._describe()
        self._differ(base.runs[0].sources)
        rows = [row for row in self.comparison.rows if self._is_open(row)]
        if rows and self.turns:
            self._choose(rows, base.runs[0].sources)
        else:
            self._across([row.fullname for row in rows], "--gnn-turns never")
        if fields := runs.differing_fields(base.runs, [head]):
            text = runs.describe_fields(fields)
            self.lines.append(f"the times of the record are not compared: other settings, {text}")
        self.lines += left_out.by_file((run.path, run.left_out) for run in base.runs)

    @property
    def recorded(self) -> Collection[str]:
        """The benchmarks of the record."""
        return self.base.runs[0].benchmarks if self.base.runs else ()

    @property
    def open_count(self) -> int:
        """Number of benchmarks that have to be judged by time."""
        return sum(map(self._is_open, self.comparison.rows))

    @property
    def is_comparable(self) -> bool:
        """Whether there are a record's times, measured with this session's settings."""
        return bool(self.base.runs) and not runs.differing_fields(self.base.runs, [self.head])

    @property
    def suspects(self) -> list[str]:
        """Those that look slower than in another session, which new processes must confirm."""
        rows = self.comparison.rows if self.is_comparable and self.confirm else ()
        return [
            row.fullname
            for row in rows
            if row.fullname not in self.in_turns
            and row.judgement.looks_slower(self.thresholds.of(row.fullname))
        ]

    def unknown(self, excused: Collection[str]) -> tuple[list[str], list[str]]:
        """Return what vanished, but for what is excused, and what is new and has no verdict."""
        rules = self.thresholds.rules
        gone = [name for name in self.missing if name not in excused and not rules.rule("ignore", name)]
        names = self.head.benchmarks.keys() - self.recorded - self.in_turns.keys() if self.base.runs else ()
        return sorted(gone), [name for name in self.head.benchmarks if name in names]

    def time(self, plan: Plan, root: Path, watcher: Watcher) -> None:
        """Time in turns what `names` has, and take the verdicts."""
        assert self.base.variant
        # Each benchmark has an equal part of the family-wise error rate.
        share = len(self.names) / self.open_count
        level = 1 - (1 - self.thresholds.family_level) * share
        thresholds = replace(self.thresholds, family_level=level)
        plan = replace(plan, only=self.names, thresholds=thresholds)
        try:
            with (
                signals.as_ctrl_c(),
                both(self.base.variant, variant.parse(variant.WORKING_TREE), root, watcher) as (base, head),
            ):
                self.take(coordinator.run(base, head, plan, watcher))
        except UsageError as error:
            self.take_failure(str(error))
        except OSError as error:
            self.take_failure(f"{error.filename or 'a file'}: {error.strerror or error}")

    def take_failure(self, reason: str) -> None:
        """Take it that the base cannot be built or run, so that a record's times decide."""
        if not self.base.runs:
            raise UsageError(reason)
        self._across(self.names, reason)

    def take(self, result: Result) -> None:
        """Take what came out in turns, except verdicts on other code than the record's."""
        self.result = result
        before = {row.fullname: row for row in self.comparison.rows}
        refused: dict[str, list[str]] = {}
        for row in result.rows:
            first = before[row.fullname]
            reason = row.judgement.reason if row.judgement.verdict == "incomparable" else ""
            if row.judgement.same_code and first.work.changed and not first.redefined:
                reason = _NOT_BUILT  # the rebuilt base runs today's code, but the record did not
            if reason and self.base.runs and not row.is_worse:
                refused.setdefault(reason, []).append(row.fullname)
                continue
            how = first.redefined and first.redefined.partition(":")[0]
            notes = (*([f"{how}; both sides ran today's"] if how else ()), *row.notes)
            self.in_turns[row.fullname] = replace(
                row, labels=first.labels, seconds=row.seconds or first.seconds, notes=notes
            )
        for reason, names in refused.items():
            self._across(names, reason)

    def judge(self, again: Sequence[RunFile] = ()) -> None:
        """Give each benchmark its verdict; `again` has new processes of the `suspects`, which confirm."""
        rows = (self._compare([self.head, *again]) if again else self.comparison).rows
        if self.is_comparable and self.confirm:
            rows = [replace(row, judgement=confirmed(row.judgement, self.confirm)) for row in rows]
        self.comparison = Comparison([self.in_turns.get(row.fullname) or row for row in rows])
        if self.is_comparable and (factor := self._since_record()):
            takes = f"this machine takes {units.ratio(factor, 'less')} the time of {self.base.title}"
            self.lines.append(f"{takes} for the same code; verdicts in turns do not depend on that")
        sides = self._revision, Revision.of_runs([self.head])
        self.comparison, lines = settle(self.comparison, self.thresholds, sides)
        self.lines.extend(lines)

    def against(self, name: str) -> str | None:
        """Return what a benchmark was compared with. None if the record does not have it."""
        if self.base.runs and name not in self.recorded and name not in self.in_turns:
            return None
        return self.base.against

    def repeat(self, names: Collection[str]) -> Repeat | None:
        """Return what commands need that time benchmarks again. None if they were not timed in turns."""
        is_timed = all(name in self.in_turns for name in names)
        return self.result.repeat if self.result and is_timed else None

    def saved(self, row: Compared) -> Verdict:
        """Return what the run file has of a benchmark."""
        name = row.fullname
        return Verdict(row, self.against(name), name in self.in_turns, self._revision)

    @property
    def terms(self) -> Terms:
        """What the run file has of the whole comparison."""
        found = self.result
        turns = (Turns(self.base.against, found.base, found.seconds, found.repeat),) if found else ()
        return Terms(self.thresholds, turns)

    def _is_open(self, row: Compared) -> bool:
        """Return whether a benchmark has to be judged by time."""
        return row.fullname in self.head.benchmarks and not row.judgement.same_code

    def _compare(self, head: Sequence[RunFile]) -> Comparison:
        return runs.compare(
            self.base.runs, head, self.thresholds, vanished=self.missing, confirming=self.confirm
        )

    def _describe(self) -> None:
        """Add the line on the record."""
        run = self.base.runs[0]
        count = sum(row.fullname in run.benchmarks for row in self.comparison.rows)
        reason = run.part.record.reason if run.part.record else ""
        self.lines.append(
            f"{units.count(count, 'benchmark')} compared with {self.base.title} of {self.base.environment}: "
            f"{units.count(len(self.base.runs), 'process')}, commit {(run.commit or 'unknown')[:10]}"
            f"{f': {reason}' if reason else ''}"
        )

    def _differ(self, then: Sources) -> None:
        """Add a line that names what differs between the base and the session, if anything does."""
        assert self.head.sources
        if parts := rebuild.differences(then, self.head.sources):
            self.differences.append(f"since {self.base.title}: {', '.join(parts)}")

    def _across(self, names: Sequence[str], reason: str) -> None:
        """Add the line that says why benchmarks of the record are not judged in turns."""
        names = [name for name in names if name in self.recorded]
        only = f"compared with the times of {self.base.title} only" if self.is_comparable else "not compared"
        if names:
            self.lines.append(f"{units.count(len(names), 'benchmark')} {only}: {reason}")

    def _choose(self, rows: Sequence[Compared], saved: Sources) -> None:
        """Find out how the record's code can be built again, and which benchmarks are timed with it."""
        assert self.head.sources
        if packages := rebuild.without_git(saved):
            changed = [row.fullname for row in rows if not self._is_unchanged(row.fullname, packages)]
            which = " and ".join(sorted(packages))
            self._across(changed, f"they run other code of {which}, which is not in git")
            rows = [row for row in rows if row.fullname not in changed]
        ranked = sorted(rows, key=lambda row: row.judgement.ratio or 0.0, reverse=True)
        names, why = [row.fullname for row in ranked], _UNCHANGED
        try:
            base = variant.parse(rebuild.variant(saved, self.head.sources))
        except UsageError as error:
            base, why = None, str(error)
        if base is None or base.text == variant.WORKING_TREE:
            self._across(names, why)
        elif names:
            self.base, self.names = replace(self.base, variant=base), names

    def _is_unchanged(self, name: str, packages: Collection[str]) -> bool:
        """Tell whether a benchmark runs the same functions and values of some packages as in its record."""
        both = [run.benchmarks.get(name) for run in (*self.base.runs, self.head)]
        prints = [row.part.comparable_fingerprint if row else None for row in both]
        parts = [one.of_packages(packages) for one in prints if one]
        return len(parts) == len(both) and all(one == parts[0] for one in parts)

    @property
    def _revision(self) -> Revision:
        """The commits of the base."""
        if self.base.runs:
            return Revision.of_runs(self.base.runs)
        return self.result.base.revision if self.result else Revision()

    def _since_record(self) -> float | None:
        """Return by which factor the machine's times changed since the record. None: hardly, or unknown."""
        times = [(self._now(row), _log(self.base.runs, row.fullname)) for row in self.comparison.rows]
        return changed_by(now - then for now, then in times if now is not None and then is not None)

    def _now(self, row: Compared) -> float | None:
        """Return the logarithm of the time [ns] that the base's code takes today. None if unknown."""
        if row.judgement.same_code:
            return _log([self.head], row.fullname)
        ratio = row.judgement.ratio if row.fullname in self.in_turns else None
        return math.log(1e9 * row.seconds / ratio) if row.seconds and ratio else None


def changed_by(changes: Iterable[float]) -> float | None:
    """Return the factor of the middle one of these logarithms. None if it is hardly one."""
    logs = [*changes]
    if not logs or abs(middle := median(logs)) < math.log(_NOTABLE):
        return None
    return math.exp(middle)


def timed_again(
    arguments: Sequence[str], folder: Path, names: Sequence[str], processes: int, say: Callable[[str], object]
) -> list[RunFile]:
    """Time benchmarks again in new processes of pytest, and return their run files."""
    again = []
    with signals.as_ctrl_c(), scratch() as files:
        listing = files / "names"
        listing.write_text("\n".join(names), encoding="utf-8")
        # With "=": pytest would use a path that is a separate argument to determine its rootdir.
        words = [*arguments, f"--gnn-again={listing}"]
        for number in range(1, processes + 1 if names else 1):
            count = units.count(len(names), "benchmark")
            say(f"{count} may be slower: timing again, new process {number} of {processes}")
            output = files / f"{number}.json"
            fresh.run(words, output, folder, _FIRST_AGAIN + number, lambda _: None)
            again.append(run_file.read(output))
    return again


def vanished(
    names: Iterable[str], collected: Mapping[str, Collection[str]], asked: Collection[str], root: Path
) -> list[str]:
    """Return those of a record's benchmarks that a session asks for or that do not exist any more.

    Args:
        names: the record's, without those that the session timed.
        collected: what pytest found in each file and class that it looked into, be it selected or not.
        asked: ids of the session's tests.
    """

    def is_gone(name: str) -> bool:
        parts = name.partition("[")[0].split("::")
        if not (root / parts[0]).exists():
            return True
        for depth in range(1, len(parts)):
            inner = collected.get("::".join(parts[:depth]))
            child = name if depth == len(parts) - 1 else "::".join(parts[: depth + 1])
            if inner is None or child not in inner:
                return inner is not None
        return False

    return [name for name in names if name in asked or is_gone(name)]


def _waiting(head: RunFile, name: str) -> Compared:
    """Return the row of a benchmark that was not timed in turns yet."""
    log = _log([head], name)
    seconds = None if log is None else math.exp(log) / 1e9
    return Compared(name, Judgement("undecided", NOT_REACHED), seconds, labels=head.benchmarks[name].labels)


def _log(side: Iterable[RunFile], name: str) -> float | None:
    """Return the mean logarithm of a benchmark's time [ns] over processes without contention, if any."""
    rows = [run.benchmarks[name] for run in side if name in run.benchmarks]
    logs = [process.log for row in rows for process in row.processes if process.is_evidence]
    return sum(logs) / len(logs) if logs else None
